"""Pages for people, beside the service: drawn on the server, readable on any screen."""
