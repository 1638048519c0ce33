"""Memory at run time: the caller's arrays, on-chip buffers, and what tiles hold."""
