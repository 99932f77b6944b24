"""Statistics of raters beside each other."""
