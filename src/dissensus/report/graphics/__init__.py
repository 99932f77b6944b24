"""Graphics that figures are made of: specifications, layout, theme, and rendering."""
