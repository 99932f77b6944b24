"""Second factors of staff, and the security log."""
