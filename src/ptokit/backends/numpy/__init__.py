"""The backend on NumPy: plans as Python code, one call of NumPy for many blocks at a time."""

from .launch import prepare as prepare
