"""Pages of staff."""
