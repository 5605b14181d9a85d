"""The command line, and the composition of all rooms into runs."""
