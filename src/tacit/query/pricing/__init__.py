"""The price of a plan: the noise it needs, the events it is charged as, and group selection."""
