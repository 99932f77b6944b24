"""Pages of raters."""
