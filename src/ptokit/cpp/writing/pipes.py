"""Pipes between the cores of a cluster as C++: ``TPipe``, ``TPUSH``, ``TPOP`` and ``TFREE``."""

from __future__ import annotations

from collections.abc import Callable

from ptokit.ir import Op, Value
from ptokit.ir.pipe_ends import reserved_buffers
from ptokit.targets import A5
from ptokit.types.enums import Direction, TileSplitAxis
from ptokit.types.tile import TileSpec

from .numbers import Unwritable
from .tiles import Tiles

THROUGH_MEMORY = 4
"""What a direction has more whose entries go through global memory, where there is a choice."""


class Pipes(Tiles):
    """Pipes by their number, or by the value that names them."""

    def reserve(self, op: Op) -> None:
        """A reserved buffer, and one that the function at the other end has reserved: its address."""
        reserved = reserved_buffers(self.shared.module.functions)
        name = op.attrs["name"]
        base = next((base for (_, other), (base, _) in reserved.items() if other == name), None)
        if base is None:
            raise Unwritable(f"the buffer {name} has no address", "give reserve_buffer a base")
        self.numbers.fix(op.result, base)

    def open(self, op: Op) -> None:
        """``TPipe<flag, direction, slot size, slots> pipe(memory, address, address);``"""
        gm = op.get("gm_slot_buffer") or op.get("gm")
        if op.get("gm_slot_tensor") is not None or op.attrs.get("acc_push_epilogue") is not None:
            raise Unwritable("a pipe through a tensor, or with a conversion on its way, is not written as C++ so far")
        way = int(op.attrs["dir_mask"])
        if op.get("local") is not None:
            c2v, v2c = (op.get("local"), op.get("peer")) if way != Direction.DIR_V2C else (None, op.get("local"))
        else:
            c2v, v2c = op.get("c2v_consumer_buf"), op.get("v2c_consumer_buf")
        number = op.attrs.get("id") or 0
        base = op.attrs.get("flag_base")
        flag = 4 * number if base is None else base
        through = THROUGH_MEMORY if gm is not None and self.target.is_a(A5) else 0
        slots = op.attrs.get("slot_num") or (8 if way != Direction.DIR_BOTH else 4)
        stated = [str(flag), f"Direction::{Direction(way + through).name}", str(op.attrs["slot_size"]), str(slots)]
        local, whole = op.attrs.get("local_slot_num"), op.attrs.get("nosplit")
        if local is not None or whole:
            stated += [str(2 if local is None else local), *(["true"] if whole else [])]
        name = self.names.new(op.results[0].name if op.results else f"pipe{number}", "pipe")
        addresses = ", ".join("0" if v is None else self.numbers.text(v) for v in (c2v, v2c))
        memory = "(__gm__ void*)nullptr" if gm is None else f"(__gm__ void*){self._pointer(gm)}"
        self.say(f"TPipe<{', '.join(stated)}> {name}({memory}, {addresses});")
        self._pipes[op.results[0] if op.results else number] = name

    def _pipe(self, op: Op) -> str:
        given = op.get("pipe")
        found = self._pipes.get((op.attrs.get("id") or 0) if given is None else given)
        if found is None:
            raise Unwritable("the pipe is not made in this function")
        if op.get("aiv_subblockid") is not None:
            raise Unwritable("a pipe to one of the vector cores is not written as C++ so far")
        return found

    def _split(self, op: Op) -> str:
        return f"TileSplitAxis::{TileSplitAxis(op.attrs.get('split') or 0).name}"

    def push(self, op: Op) -> None:
        """``TPUSH<Pipe, Tile, Split>(pipe, tile);``"""
        self._handed("TPUSH", op, op["tile"])

    def pop(self, op: Op) -> None:
        """``TPOP<Pipe, Tile, Split>(pipe, tile);`` of a tile that has its place from it."""
        if op.results:
            tile = op.results[0]
            assert isinstance(tile.type, TileSpec)
            self._tile(tile, tile.type, self._valid(op, tile.type), None)
        self._handed("TPOP", op, op.results[0] if op.results else op["tile"])

    def _handed(self, call: str, op: Op, tile: Value) -> None:
        if not isinstance(tile.type, TileSpec):
            raise Unwritable("views in pipes are not written as C++ so far", "push tiles")
        pipe = self._pipe(op)
        self.say(
            f"{call}<decltype({pipe}), {self.shared.tile(tile.type)}, {self._split(op)}>({pipe}, {self.name(tile)});"
        )

    def free(self, op: Op) -> None:
        """``TFREE<Pipe, Split>(pipe);``"""
        pipe = self._pipe(op)
        self.say(f"TFREE<decltype({pipe}), {self._split(op)}>({pipe});")


PIPES: dict[str, Callable[[Pipes, Op], None]] = {
    **dict.fromkeys(("pto.reserve_buffer", "pto.import_reserved_buffer"), Pipes.reserve),
    **dict.fromkeys((f"pto.{core}_initialize_pipe" for core in ("aic", "aiv")), Pipes.open),
    **dict.fromkeys(("pto.initialize_l2l_pipe", "pto.initialize_l2g2l_pipe"), Pipes.open),
    **dict.fromkeys(("pto.tpush", "pto.tpush_to_aiv", "pto.tpush_to_aic"), Pipes.push),
    **dict.fromkeys(("pto.tpop", "pto.tpop_from_aiv", "pto.tpop_from_aic"), Pipes.pop),
    **dict.fromkeys(("pto.tfree", "pto.tfree_from_aiv", "pto.tfree_from_aic"), Pipes.free),
}
"""By operation."""
