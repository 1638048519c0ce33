"""Printing: level 2 from the IR as it is, level 1 and the sync form from copies, generic form from the operations."""
