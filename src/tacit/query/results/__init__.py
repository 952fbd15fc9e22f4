"""From noisy integers to an answer: values, intervals, receipts, tables and charts."""
