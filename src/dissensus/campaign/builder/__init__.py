"""Builder of campaign definitions: the fields of its forms, checks, the preview for raters, and templates."""
