"""Plans for people: words and pictures. Nothing here computes."""
