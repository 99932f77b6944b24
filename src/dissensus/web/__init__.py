"""The site: routes, pages and what guards them."""
