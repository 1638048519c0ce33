"""Transfers between devices through tiles, as August 2026 writes them (PTOAS 2026-08, PTOOps).

Every device's part is global memory that the kernel has a view of.
"""

from __future__ import annotations

from collections.abc import Callable

from ptokit.types.enums import AtomicType, Pipe, ReduceOp

from ..meaning.words import COMBINING, Meaning, Transfer
from ..pending import number
from ..site import Site
from ..table import Attr, Instr, Kind, Operand, Role, grammar, instruction, listed, src, view
from ..traits import BETWEEN_CORES

_PING, _PONG = src("ping"), src("pong", optional=True)
_READ = Operand("members", Role.IN, Kind.VIEW, variadic=1)
_WRITTEN = Operand("members", Role.OUT, Kind.VIEW, variadic=1)
_ROOT = number("root")
_SOURCE = "PTOAS 2026-08 PTOOps.td"


_FOLDS = {ReduceOp.Sum: "add", ReduceOp.Max: "max", ReduceOp.Min: "min"}


def reduction(members: str) -> Callable[[Site], Transfer]:
    """The parts of all members made one, that of the root first (comm/TReduce.hpp)."""

    def meaning(o: Site) -> Transfer:
        fold = _FOLDS[o.op if o.op is not None else ReduceOp.Sum]
        return Transfer("dst", members, fold=fold, first=o.attrs.get("root") or 0)

    return meaning


def _transfer(
    text: str, summary: str, *operands: Operand, meaning: Meaning, attrs: tuple[Attr, ...], written: str
) -> None:
    instruction(
        Instr(
            text,
            text,
            summary,
            operands,
            attrs,
            pipe=Pipe.MTE3,
            meaning=meaning,
            form=grammar(written),
            source=_SOURCE,
            order=BETWEEN_CORES,
        )
    )


def _collective(
    text: str,
    summary: str,
    *operands: Operand,
    members: Operand,
    meaning: Meaning,
    attrs: tuple[Attr, ...] = (_ROOT,),
) -> None:
    names = " ".join(o.name for o in operands)
    written = (
        f"~( {listed(names)} , recv ~( %ping <? , %pong ?> ) , group ~( %members* ) "
        f": {listed(names, 'T({})')} , T(ping) <? , T(pong) ?> , T(members) ) {{}}"
    )
    _transfer(text, summary, *operands, _PING, _PONG, members, meaning=meaning, attrs=attrs, written=written)


_collective(
    "comm.tbroadcast",
    "Send the data of one device to all of a group.",
    view("src"),
    members=_WRITTEN,
    meaning=Transfer("members", "src"),
)
_collective(
    "comm.tgather",
    "Put the data of all devices of a group together, row behind row.",
    view("dst", Role.OUT),
    members=_READ,
    meaning=Transfer("dst", "members", rows=True),
)
_collective(
    "comm.tscatter",
    "Give every device of a group its rows.",
    view("src"),
    members=_WRITTEN,
    meaning=Transfer("members", "src", rows=True),
)
_collective(
    "comm.treduce",
    "Make one of the data of all devices of a group, element by element.",
    view("dst", Role.OUT),
    src("acc"),
    members=_READ,
    meaning=reduction("members"),
    attrs=(Attr("op", ReduceOp, None, "reduceOp", "reduce_op"), _ROOT),
)
for _text, _summary, _attrs in (
    (
        "comm.tput",
        "Send global memory to another device",
        (Attr("atomic", AtomicType, None, "atomicType", "atomic_type"),),
    ),
    ("comm.tget", "Fetch global memory of another device", ()),
):
    _transfer(
        _text,
        f"{_summary}, through one or two tiles.",
        view("dst", Role.OUT),
        view("src"),
        _PING,
        _PONG,
        meaning=lambda o: Transfer("dst", "src", combine=COMBINING[o.atomic] if o.attrs.get("atomic") else ""),
        attrs=_attrs,
        written="~( %dst , %src , buf ~( %ping <? , %pong ?> ) : T(dst) , T(src) , T(ping) <? , T(pong) ?> ) {}",
    )
