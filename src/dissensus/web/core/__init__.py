"""Application, middleware, and dependencies of all routes."""
