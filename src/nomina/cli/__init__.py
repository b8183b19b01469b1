"""The command line: ``main`` is the entry point, every other module is one sub-command and is imported when called."""
