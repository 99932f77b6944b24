"""Rankings of chatbots from comparisons."""
