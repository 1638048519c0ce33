"""The checks themselves, each with the state it keeps."""
