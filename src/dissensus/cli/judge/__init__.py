"""Subcommands of `dissensus judge`."""
