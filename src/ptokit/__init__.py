"""ptokit: write, check, run and debug PTO tile programs on any machine."""

__version__ = "0.1.0"
