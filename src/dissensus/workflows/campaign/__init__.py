"""Workflows of campaign owners."""
