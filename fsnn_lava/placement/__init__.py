"""Where a network goes on a board, and what it costs there."""
