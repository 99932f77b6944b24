"""Plans of campaigns, and the raters and items of interim looks."""
