"""The checks of the comparator, one file each."""
