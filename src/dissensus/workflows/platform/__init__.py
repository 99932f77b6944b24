"""Workflows of the operator: staff, jobs, backups and the database."""
