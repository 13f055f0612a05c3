"""All functions that are compiled to machine code, and the threads that run them. The contents of this folder are the cache key."""
