"""Verify a run: is the network that ran still the one that was trained? Each link of the chain is checked separately (E10, E11, E12)."""
