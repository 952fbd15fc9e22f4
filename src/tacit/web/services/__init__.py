"""What pages and API share: plain functions over the server, the person and the dataset."""
