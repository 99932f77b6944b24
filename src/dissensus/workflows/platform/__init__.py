"""Workflows of the site, beside those of single campaigns: staff accounts, the database and its backups.

Others are sign-in by passwords, passkeys, links and OpenID providers; second factors, sessions, API tokens and the
security log; delivery of mails and webhooks; idempotency keys; published heads of audit logs.
"""
