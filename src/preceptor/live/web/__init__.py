"""Pages for people: drawn on the server, readable on any screen."""
