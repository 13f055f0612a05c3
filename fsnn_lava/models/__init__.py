"""Trained networks, found by name."""
