"""The native backend: plans as machine code, made by LLVM."""

from .backend import prepare as prepare
