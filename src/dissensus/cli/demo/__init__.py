"""`dissensus demo`, its stages and its display of progress."""
