"""Small tables of real cases that come with the package."""
