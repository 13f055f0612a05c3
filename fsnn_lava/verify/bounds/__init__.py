"""Bounds that the checks hold a run to, derived in E6 and E10 to E12."""
