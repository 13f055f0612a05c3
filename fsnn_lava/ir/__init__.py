"""The integer network as the chip stores it; every tool after export uses only this."""
