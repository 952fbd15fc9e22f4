"""The contents of five sets of lecture notes, row by row, each with a page of the docs and a check."""
