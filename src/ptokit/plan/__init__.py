"""Programs as steps for a machine: what is decided about a program before anything runs it, as data."""
