"""The application, its middleware, and what every route shares."""
