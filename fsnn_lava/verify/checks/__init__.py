"""One file per thing that must hold."""
