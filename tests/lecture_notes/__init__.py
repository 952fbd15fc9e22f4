"""What five sets of lecture notes contain, row by row, each with a page of the docs and a check that it works."""
