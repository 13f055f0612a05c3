"""The bounds that the checks hold a run to."""
