"""Programs as C++: files that compile against the headers of the PTO library, and against ptokit's own.

`calls` knows how C++ calls an instruction, `numbers` what it writes for arithmetic, `function` the rest of a function,
`file` a whole file with its launchers.
"""
