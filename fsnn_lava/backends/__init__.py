"""Backends, each of which runs a ChipNetwork and returns a Result: the emulator, Lava processes, Loihi 2."""
