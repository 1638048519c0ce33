"""Proofs: what holds of a kernel for all its arguments. It shares nothing with the sanitizer, which only confirms."""
