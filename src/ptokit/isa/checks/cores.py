"""Which pipes a core has, and the check that an instruction's pipe is one of them (memory-model-and-sync 2)."""

from __future__ import annotations

from collections.abc import Mapping

from ptokit.diagnostics import Scope, family
from ptokit.types.enums import Pipe, TileType

from ..site import Site, TileInfo

rule = family("memory-model-and-sync 2, 10")

CORE_PIPES: Mapping[str, frozenset[Pipe]] = {
    "vector": frozenset((Pipe.S, Pipe.V, Pipe.MTE2, Pipe.MTE3)),
    "cube": frozenset((Pipe.S, Pipe.M, Pipe.MTE1, Pipe.MTE2, Pipe.MTE3, Pipe.FIX)),
}
"""Pipes by kind of core, without PIPE_ALL. A core of unknown kind may have any pipe."""


def on_core(pipe: Pipe, core: str) -> bool:
    """True unless the core is known and lacks the pipe, or no core has it; every core knows PIPE_ALL."""
    return pipe is Pipe.ALL or (pipe in CORE_PIPES[core] if core in CORE_PIPES else pipe.exists)


def pipe_list(core: str) -> str:
    """The pipes of a core for a message, in a fixed order."""
    return ", ".join(p.text for p in Pipe if p in CORE_PIPES[core])


def pipe_on(pipe: Pipe, core: str) -> Pipe:
    """The pipe that does the work on a core: a vector core has no fix-pipe, its moves to L1 go through MTE3.

    Source: memory-model-and-sync 2.1 (PIPE-TAG), 13 (M13).
    """
    return Pipe.MTE3 if pipe is Pipe.FIX and core == "vector" else pipe


_ONLY: Mapping[Pipe, str] = {Pipe.V: "vector", Pipe.M: "cube", Pipe.MTE1: "cube"}


def core_needed(o: Site) -> str:
    """Kind of core that an instruction needs: by its pipe, else by the buffers of its tiles; "" if either does.

    Source: memory-model-and-sync 2, 3. Outside sections of a program for both kinds, every core runs what it can.
    """
    if "src_pipe" in o.attrs or "dst_pipe" in o.attrs:
        pipes = {o.attrs.get("src_pipe"), o.attrs.get("dst_pipe")}
        kinds = {kind for kind, have in CORE_PIPES.items() if pipes - {None} <= have}
        return kinds.pop() if len(kinds) == 1 else ""
    pipe = o.instr.pipe_of(o)
    if pipe in _ONLY:
        return _ONLY[pipe]
    if pipe is Pipe.FIX:
        source = o.operands.get("src")
        return "vector" if isinstance(source, TileInfo) and source.loc is TileType.Vec else "cube"
    if not o.tiles:
        return ""
    return "vector" if any(tile.loc is TileType.Vec for tile in o.tiles) else "cube"


def missing_pipe(o: Site) -> str | None:
    """Message of PIPE-CORE, if the instruction runs on a pipe its core does not have."""
    if "src_pipe" in o.attrs:  # FLAG-PIPE checks both pipes
        return None
    pipe = o.instr.pipe_of(o)
    if on_core(pipe, o.core) or _to_l1(o, pipe):
        return None
    if o.core not in CORE_PIPES:
        return f"{o.instr.name} names {pipe.text}, which no core has"
    return f"{o.instr.name} runs on {pipe.text}, which a {o.core} core does not have; it has {pipe_list(o.core)}"


def _to_l1(o: Site, pipe: Pipe) -> bool:
    """The one instruction tagged FIX that a vector core issues: from UB to L1, on MTE3."""
    sources = [t for t in o.tiles if t.loc.name == "Vec"]
    return pipe is Pipe.FIX and o.core == "vector" and bool(sources)


PIPE_CORE = rule(
    "PIPE-CORE",
    """
        with {vector|cube}_section():
            t = Tile(Vec, f32, 16, 16)
            TEXPANDS(t, 1.0)
    """,
    what="An instruction is issued on a core that has its pipe.",
    scope=Scope.SYNC,
    why="Cube and vector cores are different cores; the code of one does not run on the other.",
)(missing_pipe)
