"""Forms of campaign definitions."""
