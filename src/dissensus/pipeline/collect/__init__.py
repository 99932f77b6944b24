"""Collection: conversations with chatbots, and preferences between responses."""
