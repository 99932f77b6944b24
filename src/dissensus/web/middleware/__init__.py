"""ASGI middleware and the HTTP protocol of the server."""
