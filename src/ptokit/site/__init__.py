"""The documentation as a site: the reference, made from the tables of the tool; what builds and opens it."""
