"""Second factors and passkeys of staff, the security log, and the outbox of mails."""
