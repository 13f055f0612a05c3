"""The commands: one file each; they parse, call, and translate errors into sentences and exit codes."""
