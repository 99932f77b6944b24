"""Workflows of experts and their gold labels."""
