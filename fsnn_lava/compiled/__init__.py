"""Every function that is compiled to machine code, and the threads that run them. The content of this folder is the cache key."""
