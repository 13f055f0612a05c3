"""One test suite for every backend: pytest hw_tests --target emu|sim|stock|loihi2."""
