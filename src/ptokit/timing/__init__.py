"""`time`: what each pipe of each core would do and when, from what the cores issue and what that costs on a part."""
