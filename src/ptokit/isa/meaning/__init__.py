"""What an instruction computes, as data: expressions, the primitives they are made of, and a few words around them.

`expressions` has the nodes, `primitives` the one table of operations, `words` the kinds of meaning. From a meaning
follow the NumPy executor's function (`execute`), what is read and written (`footprint`), and the reference's sentence
(`sentence`); a native backend writes machine code from it.
"""
