"""Pages of a draft: its items, imported from files, and its dry runs."""
