"""Speed and quality, as ratios measured in one run on this machine. Run with `make bench`."""
