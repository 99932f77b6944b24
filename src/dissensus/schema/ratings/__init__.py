"""The checked table of ratings."""
