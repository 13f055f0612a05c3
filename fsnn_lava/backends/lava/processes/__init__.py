"""One folder per process. Lava runs every file in the folder of a process when it looks for models: keep them free of effects."""
