"""Bytes to tables and back, with limits on size and depth."""
