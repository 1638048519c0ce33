"""From the text of types to types (assembly 3)."""
