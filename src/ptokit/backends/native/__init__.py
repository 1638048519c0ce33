"""The native backend: plans as machine code, made by LLVM."""

from .program import prepare as prepare
