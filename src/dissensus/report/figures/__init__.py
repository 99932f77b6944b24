"""One module for each kind of figure."""
