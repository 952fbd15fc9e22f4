"""High-dimensional releases: marginals, synthetic rows, classifiers and itemsets."""
