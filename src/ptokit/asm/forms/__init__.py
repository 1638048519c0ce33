"""What readers and printers share: how operations are written, attributes, their spelling."""
