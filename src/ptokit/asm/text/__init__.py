"""Text as tokens, and what can be wrong with it."""
