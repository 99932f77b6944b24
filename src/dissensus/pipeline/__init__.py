"""Pure stages, in order: from collected ratings to what is published."""
