"""Workflows of a campaign for its members."""
