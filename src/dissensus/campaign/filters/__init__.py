"""Sort orders, filters and cursors of the lists of conversations, items and raters that staff read."""
