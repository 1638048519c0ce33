"""Reading: from `.pto` text, whatever its level or form, to the IR of level 2."""
