"""The sub-commands, one module each; ``batpy.cli.main`` imports the one that is asked for."""
