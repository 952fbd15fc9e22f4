"""Functions that pages and API share, over the server, the person and the dataset."""
