"""Reading and writing files: writes are atomic, and the contents of a file are never trusted."""
