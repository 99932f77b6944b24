"""Subcommands of `dissensus jury`."""
