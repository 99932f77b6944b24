"""Commands below `jury`."""
