"""Functions for tools: what the ``ptokit`` command does, as Python functions with the same options.

They are reached as ``ptokit.read``, ``ptokit.check`` and so on (docs/library.md). Each stands in a module of its own,
so that a command imports no more than it needs.
"""
