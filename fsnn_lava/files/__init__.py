"""How bytes reach a disk and come back: whole or not at all, and never trusted."""
