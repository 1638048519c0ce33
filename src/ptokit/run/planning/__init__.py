"""From the IR to a plan: steps for a machine, and what is decided about them before anything runs."""
