"""The same cases on the backend you name: pytest hw_tests --target emu|sim|stock|loihi2."""
