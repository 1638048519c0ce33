"""Kernels in C++: compiled to LLVM IR by clang against headers of ptokit's own, and lifted from there.

`compiler` finds clang and compiles, `llvm` reads what it writes, `lift` makes operations of it, `kernels` has the
kernels of a file. ``headers`` is what a kernel includes: every instruction tells its name and its operands to external
functions, whose calls are all that optimisation leaves of tiles, events and templates.
"""
