"""One folder per Lava process. Lava executes every file in a process's folder to find its models, so keep them free of side effects."""
