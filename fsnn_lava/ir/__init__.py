"""The intermediate representation: the integer network as the chip stores it. Everything after export uses only this."""
