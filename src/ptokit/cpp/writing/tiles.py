"""Tiles, views of global memory, and pipes between the cores of a cluster as C++."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ptokit.ir import Op, Value
from ptokit.ir.pipe_ends import reserved_buffers
from ptokit.ir.views import in_memory
from ptokit.isa.site import ViewInfo, known
from ptokit.targets import A5
from ptokit.types.enums import Direction, Layout, TileSplitAxis
from ptokit.types.tile import DYNAMIC, TileSpec, element_offset
from ptokit.types.values import MultiTile

from .body import Body
from .numbers import ATOM, PRODUCT, SUM, Text, Unwritable

MIXED = "some tiles have addresses, and others not"


class Tiles(Body):
    """Declares tiles where a function allocates them, and views where an instruction takes them."""

    # --- tiles

    def _tile(self, value: Value, type: TileSpec, valid: Sequence[str], address: Text | None) -> str:
        alias, whole = self.shared.tile(type), len(valid) == 2
        inside = f"({', '.join(valid)})" if whole else ""
        if value in self._escapes:
            name = self._declared_at_top(value)
            if whole:
                self.say(f"{name} = {alias}{inside};")
        else:
            name = self._new_name(value, "tile")
            self.say(f"{alias} {name}{inside};")
        if valid and not whole:
            self.say(f"{name}.SetValid{'Row' if type.valid_row == DYNAMIC else 'Col'}({valid[0]});")
        self._addresses[value] = address
        if address is not None:
            self.say(f"TASSIGN({name}, {address.text});")
        return name

    def _open(self, spec: TileSpec, rows: str, cols: str) -> list[str]:
        return [text for n, text in ((spec.valid_row, rows), (spec.valid_col, cols)) if n == DYNAMIC]

    def _valid(self, op: Op, spec: TileSpec) -> list[str]:
        given = []
        for operand, stated in (("valid_row", spec.valid_row), ("valid_col", spec.valid_col)):
            value = op.get(operand)
            if stated == DYNAMIC:
                given.append("0" if value is None else self.numbers.text(value))
        return given

    def alloc(self, op: Op) -> None:
        spec = op.result.type
        assert isinstance(spec, TileSpec)
        place = op.get("addr")
        if place is None and self.shared.places:
            raise Unwritable(MIXED, "give all tiles addresses, or none")
        address = None if place is None else self._address(place)
        self._tile(op.result, spec, self._valid(op, spec), address)

    def _address(self, place: Value) -> Text:
        number = self.numbers.constant(place)
        if number is not None:
            return Text(f"0x{int(number):x}", ATOM)
        return Text(self.numbers.text(place), SUM if not self.numbers.text(place).isidentifier() else ATOM)

    def declare(self, op: Op) -> None:
        spec = op.result.type
        assert isinstance(spec, TileSpec)
        if spec.dynamic:
            raise Unwritable("a tile without an address has no valid sizes yet", "use pto.alloc_tile")
        self._tile(op.result, spec, [], None)

    def assign(self, op: Op) -> None:
        """Give a tile an address; where the tile is used as it was, too, another one with its sizes."""
        if not self.shared.places:
            raise Unwritable(MIXED, "give all tiles addresses, or none")
        name, address = self.name(op["tile"]), self._address(op["addr"])
        if op.results and self._uses[op["tile"]] > 1:
            spec = op.result.type
            assert isinstance(spec, TileSpec)
            self._tile(op.result, spec, self._open(spec, f"{name}.GetValidRow()", f"{name}.GetValidCol()"), address)
            return
        self.say(f"TASSIGN({name}, {address.text});")
        for result in op.results:
            self._named[result] = name
            self._addresses[result] = address
        self._addresses[op["tile"]] = address

    def shown(self, op: Op) -> None:
        """The same bytes as another type: TRESHAPE and bitcast."""
        source, spec = op["src"], op.result.type
        assert isinstance(spec, TileSpec)
        assert isinstance(source.type, TileSpec)
        name = self.name(source)
        same = (source.type.rows, source.type.cols) == (spec.rows, spec.cols)
        valid = self._open(
            spec,
            f"{name}.GetValidRow()" if same else str(spec.rows),
            f"{name}.GetValidCol()" if same else str(spec.cols),
        )
        address = self._addresses.get(source)
        made = self._tile(op.result, spec, valid, address)
        if address is None:
            self.say(f"TRESHAPE({made}, {name});")

    def window(self, op: Op) -> None:
        """A part of a tile, which has the rows and columns of the whole in memory."""
        source, spec = op["source"], op.result.type
        assert isinstance(spec, TileSpec)
        row, col = op.group("offsets")
        whole, declared = in_memory(source), in_memory(op.result)
        name = self.name(source)
        valid = self._valid(op, spec)
        if op.get("valid_row") is None and spec.dynamic:
            lesser = self.numbers.function("lesser")
            left = [
                f"{lesser}(int64_t({name}.GetValid{what}()) - {self.numbers.text(at, PRODUCT)}, int64_t({size}))"
                for what, at, size in (("Row", row, spec.rows), ("Col", col, spec.cols))
            ]
            valid = self._open(spec, *left)
        base = self._addresses.get(source)
        if base is None:
            if whole.boxed:
                raise Unwritable("a part of a tile in boxes without an address is not written", "give tiles addresses")
            made = self._tile(op.result, declared, valid, None)
            self.say(f"TSUBVIEW({made}, {name}, {self.numbers.text(row)}, {self.numbers.text(col)});")
            return
        box = whole.box
        steps = [int(element_offset(whole, box.rows, 0)), int(element_offset(whole, 0, box.cols))]
        offset, terms = 0, []
        for at, step, size in zip((row, col), steps, box):
            number, unit = self.numbers.constant(at), step * whole.dtype.size
            if number is not None:
                offset += int(number) // size * unit
            else:
                shown = self.numbers.text(at, PRODUCT)
                terms.append(f"{shown} * {unit // size}" if unit % size == 0 else f"{shown} / {size} * {unit}")
        number = int(base.text, 0) if re.fullmatch(r"0x[0-9a-f]+", base.text) else None
        if number is not None:
            text = " + ".join([f"0x{number + offset:x}", *terms])
        else:
            text = " + ".join([base.text, *([str(offset)] if offset else []), *terms])
        self._tile(op.result, declared, valid, Text(text, ATOM if "+" not in text else SUM))

    def set_valid(self, op: Op) -> None:
        rows, cols = (self.numbers.text(op[k]) for k in ("valid_row", "valid_col"))
        self.say(f"{self.name(op['tile'])}.SetValidShape({rows}, {cols});")

    def valid_sizes(self, op: Op) -> None:
        name = self.name(op["source"])
        whats = {"pto.tile_valid_rows": ["Row"], "pto.tile_valid_cols": ["Col"]}.get(op.name, ["Row", "Col"])
        for result, what in zip(op.results, whats):
            self.numbers.bound(result, 0, 1 << 20)
            if self._uses[result]:
                self.set(result, f"int64_t({name}.GetValid{what}())")

    def several(self, op: Op) -> None:
        """Several tiles of one type."""
        kind, place = op.result.type, op.get("addr")
        assert isinstance(kind, MultiTile)
        if kind.slot.dynamic and self._valid(op, kind.slot) == []:
            raise Unwritable("the tiles have open sizes")
        self._addresses[op.result] = None if place is None else self._address(place)

    def one_of(self, op: Op) -> None:
        """One of several tiles."""
        kind, base = op["source"].type, self._addresses.get(op["source"])
        assert isinstance(kind, MultiTile)
        made = op["source"].owner
        if base is None or not isinstance(made, Op):
            raise Unwritable("several tiles without an address are not written", "give them an address")
        unit = 512 if kind.slot.loc.name in ("Left", "Right", "Acc") else 32
        size = -(-kind.slot.nbytes // unit) * unit
        slot = self.numbers.text(op["slot"], PRODUCT)
        text = Text(f"{base.text} + {slot} * {size}", SUM)
        assert isinstance(op.result.type, TileSpec)
        self._tile(op.result, op.result.type, self._valid(made, kind.slot), text)

    # --- views

    def nothing(self, op: Op) -> None:
        """Views are written where an instruction takes them."""

    def view_size(self, op: Op) -> None:
        axis = self.facts.size(op["index"])
        made = op["source"].owner
        if not isinstance(made, Op) or not isinstance(axis, int) or not known(axis):
            raise Unwritable("the size of a view is not written here", "use the value that the view was made with")
        what = "shape" if op.name.endswith("dim") else "strides"
        while what == "strides" and made.name == "pto.partition_view" and isinstance(made["source"].owner, Op):
            made = made["source"].owner
        values = made.group("sizes" if made.name == "pto.partition_view" else what)
        if not values:
            raise Unwritable("the size of a view is not written here")
        self.define(op.result, Text(self.numbers.text(values[axis], SUM), SUM))

    def view(self, value: Value, tile: TileSpec | None) -> str:
        """The GlobalTensor of a view, in the layout that it has or that the tile asks for."""
        info = self.facts.info(value)
        if not isinstance(info, ViewInfo):
            raise Unwritable(f"{value.shown} of type {value.shown_type} is not written as C++ so far")
        rows = tile is None or tile.takes_rows
        layout = info.layout or (Layout.ND if rows else Layout.DN)
        for scope in reversed(self._views):
            if (value, layout) in scope:
                return scope[value, layout]
        name = self._global_tensor(value, info, layout)
        self._views[-1][value, layout] = name
        return name

    def _global_tensor(self, value: Value, info: ViewInfo, layout: Layout) -> str:
        pointer, offsets, dims, strides = self._origin(value)
        missing = 5 - len(dims)
        if len(dims) != len(strides) or missing < 0:
            raise Unwritable(f"a view of {len(dims)} sizes and {len(strides)} strides is not written as C++")
        shape = ["1"] * missing + [self._size(n, v) for n, v in zip(info.shape[missing:], dims)]
        steps = [str(n) if known(n) else "1" for n in info.stride[:missing]]
        steps += [self._size(n, v) for n, v in zip(info.stride[missing:], strides)]
        terms = [self.numbers.text(pointer)]
        terms += [term for at, step in zip(offsets, strides) if (term := self._term(at, step))]
        name = self.names.new(value.name or value.called or "", "view")
        types = []
        given = []
        for word, sizes in (("Shape", shape), ("Stride", steps)):
            fixed = [n if n.isdigit() else "DYNAMIC" for n in sizes]
            type = f"pto::{word}<{', '.join(fixed)}>"
            opened = [n for n in sizes if not n.isdigit()]
            if opened:
                alias = self.names.new(f"{name}_{word}")
                self.say(f"using {alias} = {type};")
                type = alias
            types.append(type)
            given.append(f"{type}({', '.join(opened)})")
        wanted = "" if layout is Layout.ND else f", Layout::{layout.name}"
        arguments = [" + ".join(terms)]
        if any(not g.endswith("()") for g in given):
            arguments += given
        self.say(f"GlobalTensor<{info.dtype.cpp}, {', '.join(types)}{wanted}> {name}({', '.join(arguments)});")
        return name

    def _size(self, known_size: object, value: Value) -> str:
        if isinstance(known_size, int) and known(known_size) and known_size >= 0:
            return str(known_size)
        return self.numbers.text(value)

    def _term(self, at: Value, step: Value) -> str:
        a, b = self.numbers.constant(at), self.numbers.constant(step)
        if a == 0 or b == 0:
            return ""
        if a is not None and b is not None:
            return str(int(a) * int(b))
        if b == 1:
            return self.numbers.text(at, SUM)
        (a0, a1), (b0, b1) = self.numbers.range(at), self.numbers.range(step)
        ends = [x * y for x in (a0, a1) for y in (b0, b1)]
        if min(ends) >= -(1 << 63) and max(ends) < 1 << 63:
            return f"{self.numbers.text(at, PRODUCT)} * {self.numbers.text(step, PRODUCT)}"
        return self.numbers.call("multiply", at, step).text

    def _origin(self, value: Value) -> tuple[Value, list[Value], list[Value], list[Value]]:
        """Pointer, offsets, sizes and strides of a view."""
        made = value.owner
        if isinstance(made, Op) and made.name == "pto.make_tensor_view":
            return made["ptr"], [], made.group("shape"), made.group("strides")
        if isinstance(made, Op) and made.name == "pto.partition_view":
            whole = made["source"].owner
            if isinstance(whole, Op) and whole.name == "pto.make_tensor_view":
                if made.result.type.dtype.name == "e8m0":  # type: ignore[union-attr]
                    raise Unwritable("views of scales are not written as C++ so far")
                return whole["ptr"], made.group("offsets"), made.group("sizes"), whole.group("strides")
        raise Unwritable(f"{value.shown} is no slice of a tensor that this function has made")


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
