"""Checks of operands that the rules of several packages share, and the rules that bind every tile."""
