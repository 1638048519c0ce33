"""Who touched which bytes of on-chip and global memory, and which are initialised."""
