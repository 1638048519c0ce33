"""Arithmetic that several instruction families share: rounding, conversion, quantisation, unary tables."""
