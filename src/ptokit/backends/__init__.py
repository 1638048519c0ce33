"""What executes plans: each backend has its own module or package here, whose `prepare` makes a kernel of a program."""
