"""Search encoding, steps or dead band, and bits of a network for the cheapest one that keeps its accuracy."""
