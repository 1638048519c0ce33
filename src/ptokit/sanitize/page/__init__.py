"""The report as one HTML page: the lanes of the pipes, the bytes, the source, the fix."""

from .document import page

__all__ = ["page"]
