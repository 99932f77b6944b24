"""Workflows of the site: staff accounts, sign-in and sessions, mail and webhook delivery, backups, the database."""
