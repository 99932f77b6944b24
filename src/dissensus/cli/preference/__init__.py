"""Subcommands of `dissensus preference`."""
