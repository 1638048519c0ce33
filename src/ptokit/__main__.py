"""``python -m ptokit`` is the ``ptokit`` command."""

import gc

from ptokit.cli.collector import spare_start


def main() -> None:
    """Run the command line, see `ptokit.cli.main`."""
    spare_start()  # before anything large is imported

    from ptokit.cli import main as command

    try:
        command.main()
    finally:
        gc.freeze()  # the process ends: what is left need not be searched for cycles


if __name__ == "__main__":
    main()
