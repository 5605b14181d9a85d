"""Physics: how long work takes and what it uses. Knows no protocol and no file."""
