"""Releases: public datasets from campaigns and files, through the gate."""
