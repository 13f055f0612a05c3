"""The bounds to which the checks hold a run: what E6 and E10 to E12 derive."""
