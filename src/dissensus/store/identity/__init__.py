"""Second factors and passkeys of staff, and the security log."""
