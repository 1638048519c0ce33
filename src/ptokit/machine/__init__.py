"""The machine that plans run on: blocks that run together, their memory, threads, cores that wait for each other."""
