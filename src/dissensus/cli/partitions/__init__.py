"""Folders and globs of Parquet files as the input of commands."""
