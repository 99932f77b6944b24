"""Plans of campaigns."""
