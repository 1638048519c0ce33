"""Logical vectors of any length (VMI), whose registers and layouts a compiler chooses."""
