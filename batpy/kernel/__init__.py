"""Clock, event queue and random streams. Imports nothing of ours and never reads a wall clock."""
