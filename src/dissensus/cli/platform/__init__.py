"""Commands of the site: campaigns, staff, releases, background jobs and the server."""
