"""Reading and writing files: writes are atomic, and what a file contains is never trusted."""
