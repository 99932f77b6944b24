"""Plans of campaigns: raters, items, ratings of an item, and money, before the first answer."""
