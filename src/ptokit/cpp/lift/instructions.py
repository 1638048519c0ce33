"""What ptokit's headers tell: instructions with their operands and enumerations, recorded as in a kernel in Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from math import prod
from typing import Any

from ptokit import lang
from ptokit.diagnostics import DiagnosticError
from ptokit.ir import Block, Op, Value
from ptokit.isa.table import TABLE, Instr, Kind, Role
from ptokit.lang.functions import ConvTile
from ptokit.lang.intrinsics import castptr, handle, intrinsic, record_call
from ptokit.lang.operands import bind, scalar_type_of
from ptokit.lang.scalar import Scalar, materialize
from ptokit.lang.tensors import GlobalTensor, Pointer, TPipe
from ptokit.lang.tiles import Tile
from ptokit.targets import A5
from ptokit.types.dtypes import dtype
from ptokit.types.enums import BLayout, CompactMode, Direction, Layout, PadValue, Pipe, SLayout, TileType
from ptokit.types.tensor import sizes_of_scales
from ptokit.types.tile import DYNAMIC
from ptokit.types.values import I1, I64, INDEX, Opaque, Ptr
from ptokit.types.values import Scalar as ScalarType

from ..compiler import arguments_at, declared_at
from ..llvm import Module, Operand
from ..rules import CALL, OPERANDS, OPTION, Unliftable, open_option
from .library import OF_LANGUAGE, as_in_table, meant
from .memory import Memory
from .numbers import (
    COMPARISONS,
    Lifting,
    Numbers,
    Registers,
    conv_state,
    converted,
    on_registers,
    register_type,
    tile_type,
)
from .roots import NULL

Options = list[tuple[str, Any]]
"""Options of an instruction with their enumerations; "" for a number in the template arguments."""

_NAMED = re.compile(r"[A-Za-z_]\w*")


class Told:
    """The instruction that is being told."""

    def __init__(self, module: Module, trace: Lifting, numbers: Numbers, memory: Memory) -> None:
        self.module, self.trace, self.numbers, self.memory = module, trace, numbers, memory
        self.name = ""
        self.given: list[tuple[str, str, list[Operand]]] = []
        self.result: Value | None = None
        self._tiles: dict[Any, Tile] = {}
        self._unplaced: dict[Any, str] = {}  # the type with which a tile without an address is told first
        self.registers = Registers(trace, numbers)
        self.made: list[Value] = []  # registers that the last instruction has made
        self._pipes: dict[Value, TPipe] = {}  # by the numbers that C++ has for them
        self._opened_in: dict[Value, Block] = {}
        self._slots: dict[Any, GlobalTensor] = {}  # of pipes
        self._taken: dict[Any, Value] = {}  # tiles that are slots of pipes, whose valid region the run decides
        self.homeless: dict[Value, str] = {}  # tiles without an address
        self._overfull: dict[Value, str] = {}  # tiles whose valid region is larger than they are

    def text(self, operand: Operand) -> str:
        """The constant text that an operand is."""
        if not operand.text.startswith("@"):
            raise open_option("which type of tile, view or option is meant")
        return self.module.text(operand.text[1:].strip('"'))

    def read(self, wanted: ScalarType) -> Value:
        """The number that the instruction has left, as the headers take it."""
        assert self.result is not None
        assert isinstance(self.result.type, ScalarType)
        have = self.result.type
        if wanted.is_float:
            return self.numbers.cast("extf", self.result, wanted)
        return self.numbers.cast("extui" if have.name.startswith("u") else "extsi", self.result, wanted)

    # --- operands

    def recorded(self) -> Value | None:
        """Record the instruction; the number that it gives."""
        args: list[Any] = []
        options: Options = []
        names = arguments_at(self.trace.at)
        for k, (kind, text, operands) in enumerate(self.given):
            of_register, name = register_type(text), names[k] if k < len(names) else ""
            if kind == "option" and (of_register is not None or text == "merging" or text.startswith("<")):
                options.append((text, self.numbers.number(operands[0])))
            elif kind == "option":
                option = self._option(text, operands[0])
                options.append((text, option))
                if text not in _SAID and option is not None:
                    args.append(option)
            elif kind == "tile":
                args.append(self._tile(text, operands, name))
            elif kind == "view" and text.startswith("conv "):
                args.append(self._conv_tile(text, operands, name))
            elif kind == "view" and self.name in _OF_PIPES:
                args.append(self._slot(text, operands, args[0]))
            elif kind == "view":
                args.append(self._view(text, operands))
            elif kind == "pointer" and " " in text:
                args.append(Pointer(self.memory.local_pointer(text, operands[0].text)))
            elif kind == "pointer" and self.memory.pointer(operands[0].text).root == NULL:
                args.append(None)
            elif kind == "pointer":
                element = dtype("ui8" if text == "?" else text)
                args.append(Pointer(self.memory.global_pointer(self.memory.pointer(operands[0].text), element)))
            elif of_register is not None:
                args.append(handle(self.registers.seen_as(self.numbers.value(operands[0]), of_register)))
            elif text == "pipe":
                token = self.numbers.value(operands[0])
                args.append(self._pipes.get(token, token))
            elif kind == "number":
                plain = self.numbers.plain(operands[0])
                args.append(bool(plain) if text == "i1" and isinstance(plain, int) else plain)
            else:
                args.append(self._real(text, operands[0]))
        special = _SPECIAL.get(self.name)
        if special is not None:
            return special(self, args, options)
        compared = self.name.partition("_")[0]
        if on_registers(TABLE.get(compared if compared in COMPARISONS else self.name)):
            return self.on_registers(args, options)
        return self._called(args, options)

    def _called(self, args: list[Any], options: Options) -> Value | None:
        name = self.name + "".join(value for enumeration, value in options if enumeration == "TFillPadMode")
        name, args = as_in_table(name, args)
        if name.startswith("?"):
            raise Unliftable(CALL, f"{name[1:]} is not read from C++ so far", "use instructions of tiles")
        if name not in TABLE:
            raise Unliftable(OPERANDS, f"ptokit has no instruction {name}")
        args = self._as_elements(TABLE[name], args)
        flags = [value for enumeration, value in options if enumeration == "bool"]
        named = dict(zip((attr.name for attr in TABLE[name].attrs if attr.kind is bool), flags))
        made = (vars(lang).get(name) or intrinsic(name))(*args, **named)
        return made.value if isinstance(made, Scalar) else None

    def _as_elements(self, instr: Instr, args: list[Any]) -> list[Any]:
        """Numbers that are computed with elements in their type, as C++ converts them to that of its parameter."""
        try:
            operands, _ = bind(instr, tuple(args), {})
        except DiagnosticError:
            return args  # which the call says
        self._scratch_alone_is_overfull(instr, operands)
        wanted: dict[int, ScalarType] = {}
        for operand in instr.operands:
            given = operands.get(operand.name)
            if operand.kind is Kind.SCALAR and isinstance(given, Scalar | float):
                wanted[id(given)] = scalar_type_of(instr, operand, 0, operands)
        return [converted(arg, wanted[id(arg)]) if id(arg) in wanted else arg for arg in args]

    def _scratch_alone_is_overfull(self, instr: Instr, operands: Mapping[str, Any]) -> None:
        """Refuse a valid region larger than its tile, but of scratch, where nobody asks what is valid."""
        for operand in instr.operands:
            given = operands.get(operand.name)
            if isinstance(given, Tile) and given.value in self._overfull and operand.role is not Role.SCRATCH:
                raise Unliftable(OPERANDS, f"{operand.name} of {instr.name}: {self._overfull[given.value]}")

    def _option(self, enumeration: str, operand: Operand) -> Any:
        number = self.numbers.number(operand)
        if number is None:
            if enumeration == "event_t":
                return self.numbers.plain(operand)
            raise open_option(f"which {enumeration or 'option'} is meant")
        if not enumeration or enumeration == "bool":
            return bool(number) if enumeration else number
        try:
            return meant(enumeration, number)
        except KeyError:
            raise Unliftable(OPTION, f"{enumeration} has no enumerator with the number {number}") from None

    def _real(self, type: str, operand: Operand) -> Any:
        """A float in the type that the program gave it, from the double that tells it."""
        value = self.numbers.value(operand)
        known = self.numbers.known(value)
        if known is not None or type == "f64":
            return known if known is not None else Scalar(value)
        owner = value.owner
        if isinstance(owner, Op) and owner.name == "arith.extf" and owner["in"].type == ScalarType(type):
            return Scalar(owner["in"])
        return Scalar(self.numbers.cast("truncf", value, ScalarType(type)))

    def _tile(self, text: str, operands: list[Operand], name: str) -> Tile:
        words = text.split()
        loc, rows, cols, blocks, valid_row, valid_col, boxes, fractal, pad, compact = map(int, words[1:])
        place, *valid = (self.numbers.plain(operand) for operand in operands)
        key = (text, *(self._key(x) for x in (place, *valid)))
        unplaced = isinstance(place, Scalar) and self._is_new(place)
        first = self._unplaced.setdefault(self._key(place), text) if unplaced else text
        fixed = all(isinstance(x, int) for x in valid)
        own = fixed and text == first and (unplaced or isinstance(place, int))
        key = key if own else (self.trace.block.label, *key)
        found = self._tiles.get(key)
        if found is not None:
            return found
        taken = self._taken.get(self._key(place))
        if taken is not None or (self.name == "TPOP" and (not own or DYNAMIC in (valid_row, valid_col))):
            return self._of_slot(words, self._key(place), valid, name)
        if unplaced and not own:
            found = self._tiles[key] = self._same_place(words, first.split(), operands[0], valid, name)
            return found
        address = None if unplaced else place - 1
        homeless = fixed and isinstance(place, int) and place == 0
        told = sizes = [n if stated == DYNAMIC else stated for n, stated in zip(valid, (valid_row, valid_col))]
        sizes = [self.numbers.index_number(self.memory.at(n)) if isinstance(n, int) and n == 0 else n for n in sizes]
        wanted, sizes = sizes, [min(n, most) if isinstance(n, int) else n for n, most in zip(sizes, (rows, cols))]
        with self.memory.ahead() if own else nullcontext():
            tile = Tile(
                TileType(loc),
                dtype(words[0]),
                rows,
                cols,
                BLayout(blocks),
                sizes[0],
                sizes[1],
                SLayout(boxes),
                fractal,
                PadValue(pad) if pad < 4 else pad,
                CompactMode(compact),
                addr=0 if homeless else address,
            )
        self._name(tile.value, name)
        if homeless:
            self.homeless[tile.value] = f"the tile{f' {name}' if name else ''} has no address"
        if wanted != sizes and 0 not in told:
            self._overfull[tile.value] = f"{wanted[0]}x{wanted[1]} are valid in a tile of {rows}x{cols}"
        self._tiles[key] = tile
        return tile

    def _of_slot(self, words: list[str], place: Any, valid: list[Any], name: str) -> Tile:
        """A tile that is a slot of a pipe, with a valid region that the run decides."""
        if place not in self._taken:
            spec = replace(tile_type(words), valid_row=DYNAMIC, valid_col=DYNAMIC)
            with self.memory.ahead():
                self._taken[place] = self.trace.emit("pto.declare_tile", results=[spec]).result
            self._name(self._taken[place], name)
        rows, columns = (self.memory.at(n if isinstance(n, int) else n.value) for n in valid)
        given = {"tile": self._taken[place], "valid_row": rows, "valid_col": columns}
        self.trace.emit("pto.set_validshape", given)
        return Tile._alias(self._taken[place], (valid[0], valid[1]))

    def _same_place(self, words: list[str], first: list[str], place: Operand, valid: list[Any], name: str) -> Tile:
        """A tile that the compiler has placed, seen as another type, or as much of it as is valid."""
        if str(DYNAMIC) in first[5:7]:
            first[5:7] = first[2:4]
            self._unplaced[self._key(self.numbers.plain(place))] = " ".join(first)
        sizes = [Operand("i64", n) for n in first[5:7]]
        whole = self._tile(" ".join(first), [place, *sizes], name)
        if words[:5] + words[7:] != first[:5] + first[7:]:
            spec = tile_type(words)
            seen = self.trace.emit("pto.treshape", {"src": whole.value}, results=[spec]).result
            whole = Tile._alias(seen, (spec.rows, spec.cols))
        part = whole.part(0, 0, whole.spec, (valid[0], valid[1]))
        self._name(part, name)
        return Tile._alias(part, (valid[0], valid[1]))

    def _is_new(self, place: Scalar) -> bool:
        owner = place.value.owner
        inner = owner.get("in") if isinstance(owner, Op) else None
        return inner is not None and isinstance(inner.owner, Op) and inner.owner.name == "ptokit.new_tile"

    def _key(self, x: Any) -> Any:
        if isinstance(x, int):
            return x
        owner = x.value.owner
        if isinstance(owner, Op) and owner.name == "arith.index_cast":
            return owner["in"]
        return x.value

    def _name(self, value: Value, name: str) -> None:
        """Call a tile as the program does, where the call of an instruction says how."""
        found = _NAMED.findall(re.sub(r"\[.*", "", name))
        value.name = self.trace.unique(found[-1]) if found else ""
        value.called = name

    def _conv_tile(self, text: str, operands: list[Operand], name: str) -> Tile:
        """A tile of a convolution, whose sizes have to be known."""
        element, *words = text.split()[1:]
        loc, stated, layout, dimensions = map(int, words)
        told = [self.numbers.number(operand) for operand in (*operands[1 : 1 + dimensions], *operands[7:])]
        p = self.memory.pointer(operands[0].text)
        place = self.memory.offset(p, 1)
        known = [n for n in told if n is not None]
        if len(known) < len(told) or not isinstance(place, int):
            raise Unliftable(OPTION, "the sizes and the address of a ConvTile have to be known when it is compiled")
        key = (text, place, *known)
        found = self._tiles.get(key)
        if found is None:
            shape, state = known[:dimensions], conv_state(known[dimensions:])
            of, elements = dtype(element), self._elements(shape, Layout(layout))
            size = stated if stated >= of.nbytes(elements) else of.nbytes(max(stated, elements))  # some count elements
            with self.memory.ahead():
                made = ConvTile(TileType(loc), of, size, Layout(layout), shape, addr=place, state=state)
            self._name(made.value, name)
            found = self._tiles[key] = made
        return found

    def _elements(self, shape: list[int], layout: Layout) -> int:
        """The elements of a convolution tile; groups that TTRANS takes to FRACTAL_Z are as far apart as it has them."""
        _, to, sizes = self.given[0]
        if self.name == "TTRANS" and layout is Layout.GNC1HWC0 and to.split()[4] == str(Layout.FRACTAL_Z.value):
            inner = self.numbers.number(sizes[3]) or 1
            return prod(shape) // shape[1] * -(-shape[1] // inner) * inner
        return prod(shape)

    def _view(self, text: str, operands: list[Operand]) -> GlobalTensor:
        element, number = text.split()
        layout, at = Layout(int(number)), self.memory.pointer(operands[0].text)
        sizes = [self.numbers.plain(operand) for operand in operands[1:]]
        start = Pointer(self.memory.global_pointer(at, dtype(element)))
        return GlobalTensor(start, sizes_of_scales(layout, sizes[:5]), tuple(sizes[5:]), layout)

    # --- what the table calls by other names, or not at all

    def between_cores(self, args: list[Any], options: Options) -> None:
        """Flags between cores: those of a message, and those of one cluster."""
        pipe = next((option for _, option in options if isinstance(option, Pipe)), Pipe.S)
        number = args[-1]
        if self.name == "ffts_cross_core_sync":
            self._raised(pipe, number)
            return
        of_set: dict[str, Any] = {"ffts_mode": 2} if self.name == "set_intra_block" else {}
        self._flag("set" if of_set else "wait", number, {"pipe": pipe, **of_set})

    def _flag(self, name: str, event: Any, attrs: dict[str, Any]) -> None:
        """A flag between cores, whose number is known or is the run's."""
        known = isinstance(event, int)
        given = {} if known else {"event": event.value if isinstance(event, Scalar) else event}
        self.trace.emit(f"pto.sync.{name}", given, {**attrs, "event_id": event} if known else attrs)

    def _raised(self, pipe: Pipe, message: Any) -> None:
        """A flag of a message, which has its mode in the bits from 4 on and its number in those from 8 on."""
        if isinstance(message, int):
            self._flag("set", message >> 8 & 15, {"pipe": pipe, "ffts_mode": message >> 4 & 3})
            return
        low = self.numbers.low_bits(message.value, 8)
        if low is None:
            raise open_option("between which cores a flag is raised")
        numbers = self.numbers
        shifted = numbers.binary("shrui", message.value, numbers.constant(8, INDEX))
        event = numbers.binary("andi", shifted, numbers.constant(15, INDEX))
        self._flag("set", event, {"pipe": pipe, "ffts_mode": low >> 4 & 3})

    def stored_blocks(self, args: list[Any], options: Options) -> None:
        """Blocks of L1 into global memory: rows of bytes, as a tile and a view have them."""
        _, to, _, rows, length, *gaps = args
        place = self.memory.offset(self.memory.pointer(self.given[0][2][0].text), 1)
        if not all(isinstance(n, int) for n in (place, rows, length, *gaps)):
            raise open_option("how many blocks are copied, and from where,")
        columns, pitch, row = (32 * n for n in (length, length + gaps[0], length + gaps[1]))  # blocks of 32 bytes
        tile = Tile(TileType.Mat, to.dtype, rows, pitch, valid_col=columns, addr=place)
        tile.value.called = f"{rows} x {columns} bytes of L1"
        intrinsic("TSTORE")(
            GlobalTensor(to, (1, 1, 1, rows, columns), (rows * row, rows * row, rows * row, row, 1)), tile
        )

    def on_registers(self, args: list[Any], options: Options) -> Value | None:
        """An instruction on vector registers; a number that it gives."""
        told = [type for text, _ in options if (type := register_type(text)) is not None]
        words = [OF_LANGUAGE[text][option] for text, option in options if text in OF_LANGUAGE]
        made = self.registers.record(self.name, args, words, told, ("merging", 1) in options)
        self.made = [result.value for result in made if not isinstance(result, Scalar)]
        return next((result.value for result in made if isinstance(result, Scalar)), None)

    def opened(self, args: list[Any], options: Options) -> None:
        """A pipe between cores; of the places of its slots those are stated that its direction has."""
        token, flag, way, size, slots, local, whole, memory, *places = args
        names = ("c2v_consumer_buf", "v2c_consumer_buf")
        given = {name: place for k, (name, place) in enumerate(zip(names, places)) if way >> k & 1}
        if memory is not None:
            given["gm_slot_buffer"] = memory
        pipe = self._pipes[token] = TPipe(flag, Direction(way), size, slots, local, bool(whole), **given)
        pipe.value.called = declared_at(self.trace.at) or "between the cores"
        self._opened_in[pipe.value] = self.trace.block

    def _slot(self, text: str, operands: list[Operand], pipe: TPipe) -> GlobalTensor:
        """A slot of a pipe as a tensor, which what fills it or takes it has in common with what hands it on.

        Where it lies the headers compute; for the pipe it is a tensor that gets its memory from the instruction.
        """
        element, _ = text.split()
        sizes = [self.numbers.number(operand) for operand in operands[1:6]]
        if None in sizes:
            raise Unliftable(OPTION, "the sizes of a slot of a pipe only the run knows")
        key = (pipe.value, self.name in ("TALLOC", "TPUSH"), text, *sizes)
        found = self._slots.get(key)
        if found is None:
            with self.memory.ahead():
                found = self._slots[key] = GlobalTensor(dtype(element), tuple(sizes))
            self._of_tensors(pipe, found)
        return found

    def _of_tensors(self, pipe: TPipe, slot: GlobalTensor) -> None:
        """Let the memory of a pipe be the tensor of its first slot; it has no buffers."""
        opened = pipe.value.owner
        assert isinstance(opened, Op)
        memory = opened.get("gm")
        if memory is None or not isinstance(memory.type, Ptr):
            return
        block, self.trace.block = self.trace.block, Block()
        opened.operands = {"gm": GlobalTensor(castptr(Pointer(memory), slot.dtype), slot.shape).value}
        opened.attrs.pop("local_slot_num", None)
        made, self.trace.block = self.trace.block.ops, block
        ops = self._opened_in[pipe.value].ops
        at = ops.index(opened)
        ops[at:at] = made

    def quantised(self, args: list[Any], options: Options) -> None:
        """Codes of 4 bits may be given as a row of bytes: they lie as the rows of the source."""
        (_, to, place), (_, source, valid) = self.given[:2]
        of_codes, of_source = to.split(), source.split()
        if of_codes[0] == "e2m1" and of_codes[2] == "1" != of_source[2]:
            of_codes[2:4], of_codes[5:7] = of_source[2:4], of_source[5:7]
            args[0] = self._tile(" ".join(of_codes), [place[0], *valid[1:]], "")
        self._called(args, options)

    def filled(self, args: list[Any], options: Options) -> None:
        """What the fix-pipe does to what is pushed into a pipe."""
        opened, words = args[0].value.owner, options[0][0].strip("<>")
        if opened.attrs.setdefault("acc_push_epilogue", words) != words:
            raise Unliftable(OPTION, "the fix-pipe does two things to what is pushed into one pipe", "open two pipes")

    def scaled(self, args: list[Any], options: Options) -> None:
        """The number, or the tile of words, that the fix-pipe quantises with from here on."""
        words = isinstance(args[0], Tile)
        of = {"scales": args[0].value} if words else {"scale": materialize(args[0], ScalarType("f32"))}
        self.trace.emit(f"pto.{self.name}", of, {"id": 0})

    def in_background(self, args: list[Any], options: Options) -> Value | None:
        """A session of transfers, which C++ has as a number; a transfer in one, and what has become of an event."""
        instr, opens = TABLE[self.name], self.name == "build_async_session"
        session = None if opens else materialize(args[0], I64)
        made: Value = record_call(instr, tuple(args) if opens else (*args[1:], 0), {}).value
        if session is not None:
            self.trace.block.ops[-1].operands[instr.operands[-1].name] = session
        made.type = I64 if opens else I1 if self.name.endswith("_event") else Opaque("!pto.async_event")
        return made

    def popped(self, args: list[Any], options: Options) -> None:
        """A tile that has no place of its own: it becomes the next slot of a pipe."""
        for tile in (arg for arg in args if isinstance(arg, Tile)):
            owner = tile.value.owner
            if isinstance(owner, Op) and owner.name == "pto.alloc_tile" and not owner.operands:
                owner.name = "pto.declare_tile"
        self._called(args, options)

    def cache(self, args: list[Any], options: Options) -> None:
        """The scalar unit's cache: lines are written back and forgotten; what was stored before is done."""
        words = [OF_LANGUAGE[kind][number] for kind, number in options]
        if self.name == "dcci":
            pointer = args[:1] if args[0] is not None else []
            intrinsic("dcci")(*pointer, **dict(zip(("cache", "where"), words)))
        else:
            intrinsic("dsb")(memory=words[0].removeprefix("DSB_"))

    def tf32(self, args: list[Any], options: Options) -> None:
        """Products of f32 in TF32 from here on, or no longer."""
        enable = self.name == "SetMadTF32Mode"
        mode = {"mode": f"CAST_{options[0][1].name.removeprefix('CAST_')}"} if enable else {}
        intrinsic("SETTF32MODE" if self.trace.target.is_a(A5) else "SETHF32MODE")(enable=enable, **mode)


_IN_BACKGROUND = "build_async_session tput_async tget_async prefetch_async wait_async_event test_async_event".split()
_OF_PIPES = ("TALLOC", "TPUSH", "TPOP", "TFREE")

_OPERANDS = ("event_t", "dcci_t", "dcci_to_t", "mem_dsb_t")
_SAID = ("TFillPadMode", "bool", *(name for name in OF_LANGUAGE if name not in _OPERANDS))
"""Options that are no operands by their place."""

_SPECIAL: dict[str, Callable[[Told, list[Any], Options], Value | None]] = {
    **dict.fromkeys(
        ("ffts_cross_core_sync", "wait_flag_dev", "set_intra_block", "wait_intra_block"), Told.between_cores
    ),
    "TPipe": Told.opened,
    "TPipe fills": Told.filled,
    **dict.fromkeys(("set_quant_scalar", "set_quant_vector"), Told.scaled),
    "mem_bar": lambda told, args, said: intrinsic("mem_bar")(kind=OF_LANGUAGE[said[0][0]][said[0][1]]),
    "sprclr": lambda told, args, said: intrinsic("sprclr")(register="AR"),
    "TPOP": Told.popped,
    **dict.fromkeys(_IN_BACKGROUND, Told.in_background),
    "TQUANT": Told.quantised,
    "copy_cbuf_to_gm": Told.stored_blocks,
    "create_cbuf_matrix": lambda told, args, _: intrinsic(told.name)(*args, fill_word_bits=args[0].dtype.bits),
    **dict.fromkeys(("dcci", "dsb"), Told.cache),
    **dict.fromkeys(("SetMadTF32Mode", "ResetMadMode"), Told.tf32),
    "TRAP": lambda told, args, said: intrinsic("TRAP")(),
}
