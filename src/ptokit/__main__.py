"""``python -m ptokit`` is the ``ptokit`` command."""

from ptokit.cli.main import main

if __name__ == "__main__":
    main()
