"""Database connections, column types, ids and pagination."""
