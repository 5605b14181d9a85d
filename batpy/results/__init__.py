"""Journal, tables, metrics, audit: all of them functions of the records a run wrote."""
