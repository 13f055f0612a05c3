"""Placement of a network on a board, and what it costs there."""
