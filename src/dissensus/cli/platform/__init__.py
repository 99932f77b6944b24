"""Commands of the platform: campaigns, staff, jobs and the site."""
