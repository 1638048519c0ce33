"""The rule of files with arguments."""

from ptokit.diagnostics import Scope, define

ARGUMENT_FILE = define(
    "CLI-01",
    "an argument file is a readable .npy array of numbers",
    scope=Scope.RUN,
    why="The kernel works on the array's elements; a pickle, an archive or a cut-off file has none to give.",
    source="docs/formats.md, Arguments",
    example="{--arg x.npy        with numpy.save('x.npy', numpy.zeros((64, 64), "
    "numpy.float32))|--arg x.npy        with a text file, an .npz archive or an array of Python objects}",
    unrun="it is about files",
)
