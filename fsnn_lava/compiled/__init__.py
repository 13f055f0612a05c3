"""Everything that is compiled to machine code, and the threads it runs on. The content of this folder is the cache key."""
