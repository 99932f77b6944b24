"""Models of the JSON API, shared by the server and the Python client."""
