"""The network on a Loihi 2 board."""
