"""What programs do with the platform: the same workflows as the pages, as JSON, for who has a token."""
