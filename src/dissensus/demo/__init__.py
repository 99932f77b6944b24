"""A campaign to look at: drawn conversations, and drawn raters who take part in it over HTTP."""
