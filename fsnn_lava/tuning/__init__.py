"""Tune an export: search over encoding, steps or dead band, and bits for the cheapest network that keeps its accuracy."""
