"""The chip on a CPU: event-driven, bit-exact (E9), batched; needs no Lava."""
