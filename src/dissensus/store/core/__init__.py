"""Database connections, schema revisions, column types and ids; leases, rate limits, idempotency keys; backups."""
