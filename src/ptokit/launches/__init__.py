"""Large launches: blocks in chunks on other processes, with the bytes that one process would leave."""
