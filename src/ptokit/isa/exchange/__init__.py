"""Between cores and devices: pipes, transfers, signals in the other device's memory."""
