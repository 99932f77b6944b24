"""`dissensus demo` and its stages."""
