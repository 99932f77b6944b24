"""Workflows of raters, from the invite link to withdrawal."""
