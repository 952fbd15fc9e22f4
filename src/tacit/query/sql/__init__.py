"""SQL text to a checked plan. `parse` is the entry point; no module here reads data or spends budget."""
