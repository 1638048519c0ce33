"""Known answers: cases in files, and how an implementation is measured by them."""
