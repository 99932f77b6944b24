"""SQL persistence in SQLite or PostgreSQL: tables, transactions, queries and migrations."""
