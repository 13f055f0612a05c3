"""The options of every command, without importing what the commands need, so that --help is quick."""
