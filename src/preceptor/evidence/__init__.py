"""What a log says about who somebody is: kinds weighed, pushes tested, and what would tell more."""
