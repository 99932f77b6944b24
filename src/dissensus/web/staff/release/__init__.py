"""Pages of the release of a campaign."""
