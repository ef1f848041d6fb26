"""Problems in which every showing divides a test's error by a constant: search, dual bound, beam."""
