"""Operations of other dialects that the reference assembler takes and ptokit does not read."""

KNOWN_FOREIGN = frozenset("scf.parallel scf.forall scf.reduce memref.load memref.store memref.cast".split())
"""Operations of other dialects the reference assembler takes and ptokit does not (assembly 11)."""
