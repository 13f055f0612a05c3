"""One folder per process. Lava executes every file in the folder of a process to find its models, so keep them free of side effects."""
