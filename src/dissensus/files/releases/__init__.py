"""Releases: the folder, its verification, and the file of its key."""
