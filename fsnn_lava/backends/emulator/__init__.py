"""The chip on a CPU: event-driven, bit-exact (E9), in batches; does not need Lava."""
