"""Power, precision and recruitment of designs, before their first answer."""
