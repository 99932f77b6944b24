"""Judges against the answers of groups of raters: agreement, distance, rank among raters, effects of presentation."""
