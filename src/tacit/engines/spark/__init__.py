"""The Spark engine: `engine` runs plans; the other modules hold what is specific to Spark."""
