"""Campaign definitions."""
