"""Pure stages of the pipeline, from collected ratings to released data."""
