"""The site: routes, pages and their protection."""
