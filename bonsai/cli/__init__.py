"""The command line: parses, calls one verb of the workspace, words the result."""
