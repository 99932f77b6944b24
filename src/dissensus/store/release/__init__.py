"""Release plans of campaigns on the site."""
