"""Plans of releases."""
