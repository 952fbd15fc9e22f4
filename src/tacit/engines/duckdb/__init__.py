"""The DuckDB engine: `engine` runs plans; the other modules hold what is specific to DuckDB."""
