"""Emulator of the chip on a CPU: event-driven, bit-exact (E9), in batches; it does not need Lava."""
