"""The network in integers, as the chip holds it; every tool after export reads only this."""
