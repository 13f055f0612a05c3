"""The options of every command, without what the commands import: --help is quick."""
