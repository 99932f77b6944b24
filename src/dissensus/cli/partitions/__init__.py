"""Commands on folders and globs of Parquet files."""
