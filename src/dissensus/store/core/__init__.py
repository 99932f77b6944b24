"""Database connections, column types, ids, rate limits and backups."""
