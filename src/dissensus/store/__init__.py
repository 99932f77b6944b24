"""What a platform keeps, in SQLite or PostgreSQL: tables, transactions, queries and migrations."""
