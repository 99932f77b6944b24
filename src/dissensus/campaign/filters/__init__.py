"""Orders and filters of lists of staff, and places in them."""
