"""`dissensus plan`: the plan of a campaign before its first answer."""
