"""How a network is placed on a board, and what it costs there."""
