"""SQL text becomes a plan: `parse` is the entry, and `grammar` lists the supported SQL."""
