"""The checks that the comparator makes, one file each."""
