"""The options of every command, without what the commands import, so that --help is quick."""
