"""Subcommands of `dissensus plan`."""
