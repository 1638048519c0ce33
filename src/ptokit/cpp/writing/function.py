"""One function as C++: control flow, calls of instructions, and what the scalar unit does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ptokit.ir import Block, Op, Value
from ptokit.ir.control import CONTROL, TERMINATORS, Control, is_call, passed, returns, section_of
from ptokit.ir.facts import instr_of, shown_op
from ptokit.ir.views import in_memory
from ptokit.isa.order.sync_rules import class_pipe
from ptokit.isa.table import Instr, Kind
from ptokit.targets import A5
from ptokit.types.tile import TileSpec
from ptokit.types.values import LocalArray, PartitionView, Ptr, Scalar, TensorView

from ..rules import WRITE, refusal
from .body import GUARDS, INDENT, Word, chosen, function_name, option, parts_of
from .numbers import PRODUCT, SUM, Text, Unwritable, ctype
from .tiles import PIPES, Pipes

_BLOCKS = 1 << 20
_QUERIES = {
    "pto.get_block_idx": ("get_block_idx()", 0, _BLOCKS, "block"),
    "pto.get_block_num": ("get_block_num()", 1, _BLOCKS, "blocks"),
    "pto.get_subblock_idx": ("get_subblockid()", 0, 1, "core"),
    "pto.get_subblock_num": ("get_subblockdim()", 1, 2, "cores"),
}


class Writer(Pipes):
    """Writes one function."""

    def write(self) -> list[str]:
        """The body's lines. Raises `DiagnosticError` (CPP-WRITE)."""
        body = self.function.body
        assert body is not None
        for block in body.blocks:
            self._survey(block.ops, (id(block),))
        for param in self.function.params:
            self._named[param] = self.names.new(param.name, "arg")
        for k, block in enumerate(body.more):
            self._labels[block] = self.names.new(block.label or f"block{k + 1}", "block")
        if body.more:
            self._find_escaping(body)
        for block in body.blocks:
            self._labelled(block)
        return [INDENT + line for line in self.top] + self.lines

    def _labelled(self, block: Block) -> None:
        label = self._labels.get(block)
        if label is None:
            self._ops(block.ops)
            return
        for arg in block.args:
            self._declared_at_top(arg)
        self.lines.append(f"{label}: {{")
        with self._scope():
            self._ops(block.ops)
        self.say("}")

    # --- operations

    def _ops(self, ops: Sequence[Op]) -> None:
        guard, outside = "", self._views[-1]
        for op in ops:
            wanted = "" if op.name in _OWN or is_call(op) else self.only.get(op, "")
            if wanted != guard:
                if guard:
                    self.lines.append("#endif")
                    self._views[-1] = outside
                if wanted:
                    self.lines.append(f"#if defined({GUARDS[wanted]})")
                    outside, self._views[-1] = self._views[-1], dict(self._views[-1])
                guard = wanted
            try:
                self._op(op)
            except Unwritable as cannot:
                message = f"{shown_op(op)}: {cannot.message}"
                raise refusal(WRITE, message, op.location, cannot.hint) from None

    def _op(self, op: Op) -> None:
        if op.name.startswith("arith."):
            self._arithmetic(op)
        elif op.name in CONTROL:
            self._flow(op, CONTROL[op.name])
        elif op.name in _QUERIES:
            text, low, high, called = _QUERIES[op.name]
            self.numbers.bound(op.result, low, high)
            if self._uses[op.result]:
                self.set(op.result, text, called)
        elif op.name in _OWN:
            _OWN[op.name](self, op)
        elif op.name in PIPES:
            PIPES[op.name](self, op)
        else:
            self._instruction(op)

    def _arithmetic(self, op: Op) -> None:
        if len(op.results) == 2:
            for result, text in zip(op.results, self.numbers.both(op)):
                if self._uses[result]:
                    self.set(result, text)
            return
        if isinstance(op.result.type, TileSpec):
            self._chosen(op)
            return
        made = self.numbers.write(op)
        if made is not None:
            self.define(op.result, made)

    def _chosen(self, op: Op) -> None:
        """One of two tiles."""
        names = self._carried(op.results, [""])
        self.say(f"if ({self.numbers.text(op['condition'])}) {{")
        for end, word in (("} else {", "true"), ("}", "false")):
            with self._scope():
                self._assign(names, [op[word]])
            self.say(end)

    # --- control flow

    def _flow(self, op: Op, control: Control) -> None:
        if core := section_of(op):
            self._guarded(core, op.regions[0])
        elif is_call(op):
            self._call(op)
        elif returns(op):
            if self.function.results:
                self.say(f"return {self.numbers.text(op.values[0])};")
            elif self._labels or self._ends:
                self.say("return;")
        elif op.successors:
            self._branch(op, control)
        elif control.terminates:
            self._ends[-1](op)
        elif control.inductions(op):
            self._for(op)
        elif control.repeats and control.carries:
            self._while(op)
        elif control.decides == ("condition",):
            self._if(op)
        elif control.decides == ("index",):
            self._switch(op)
        elif control.several:
            self._several(op)
        else:
            raise Unwritable("it is not written as C++ so far", "write loops and branches of scf")

    def _region(self, region: Block, end: Callable[[Op], None]) -> None:
        if region.more:
            raise Unwritable("a region of several blocks is not written as C++", "branch in the function itself")
        self._ends.append(end)
        with self._scope():
            self._ops(region.ops)
        self._ends.pop()

    def _for(self, op: Op) -> None:
        body = op.regions[0]
        index, *carried = body.args
        names = self._carried(carried, self._texts(op.group("init")))
        lower, upper, step = (self.numbers.text(op[k], PRODUCT) for k in ("lower", "upper", "step"))
        low, high = self.numbers.range(op["lower"])[0], self.numbers.range(op["upper"])[1]
        if low < high:
            self.numbers.bound(index, low, high - 1)
        name = self._new_name(index, "i")
        advance = f"{name}++" if self.numbers.constant(op["step"]) == 1 else f"{name} += {step}"
        self.say(f"for ({self._type(index.type)} {name} = {lower}; {name} < {upper}; {advance}) {{")
        self._region(body, lambda end: self._assign(names, end.group("values")))
        self.say("}")
        self._same(op.results, names)

    def _if(self, op: Op) -> None:
        names = self._carried(op.results, [""] * len(op.results))
        self.say(f"if ({self.numbers.text(op['condition'])}) {{")
        self._region(op.regions[0], lambda end: self._assign(names, end.group("values")))
        if len(op.regions) > 1 and any(o.name not in TERMINATORS or o.values for o in op.regions[1].ops):
            self.say("} else {")
            self._region(op.regions[1], lambda end: self._assign(names, end.group("values")))
        self.say("}")

    def _while(self, op: Op) -> None:
        before, after = op.regions
        names = self._carried(before.args, self._texts(op.group("init")))
        given = self._carried(after.args, [""] * len(after.args))
        self.say("while (true) {")

        def condition(end: Op) -> None:
            self._assign(given, end.group("values"))
            self.say(f"if (!({self.numbers.text(end['condition'])})) break;")

        self._ends.append(condition)
        with self._scope():
            self._ops(before.ops)
            self._ends.append(lambda end: self._assign(names, end.group("values")))
            self._ops(after.ops)
            self._ends.pop()
        self._ends.pop()
        self.say("}")
        self._same(op.results, given)

    def _switch(self, op: Op) -> None:
        names = self._carried(op.results, [""] * len(op.results))
        self.say(f"switch ({self.numbers.text(op['index'])}) {{")
        default, *regions = op.regions
        for label, region in zip([*(f"case {n}" for n in op.attrs["cases"]), "default"], [*regions, default]):
            self.say(f"{label}: {{")
            self._region(region, lambda end: self._assign(names, end.group("values")))
            self.say("} break;")
        self.say("}")

    def _several(self, op: Op) -> None:
        """A region of several blocks."""
        region, names = op.regions[0], self._carried(op.results, [""] * len(op.results))
        end = self.names.new("end")
        for block in region.more:
            self._labels[block] = self.names.new(block.label or "block", "block")
        self._find_escaping(region)

        def leave(last: Op) -> None:
            self._assign(names, last.group("values"))
            self.say(f"goto {end};")

        self.say("{")
        self._ends.append(leave)
        with self._scope():
            for block in region.blocks:
                self._labelled(block)
        self._ends.pop()
        self.say("}")
        self.lines.append(f"{end}:;")

    def _guarded(self, core: str, region: Block) -> None:
        if self.core:
            if core == self.core:
                self._block(region)
            return
        self.lines.append(f"#if defined({GUARDS[core]})")
        self._block(region)
        self.lines.append("#endif")

    def _block(self, region: Block) -> None:
        self.say("{")
        self._region(region, lambda end: None)
        self.say("}")

    def _branch(self, op: Op, control: Control) -> None:
        def jump(k: int) -> None:
            to = op.successors[k]
            self._assign([self._declared_at_top(a) for a in to.args], passed(op, k))
            self.say(f"goto {self._labels[to]};")

        if len(op.successors) == 1:
            jump(0)
            return
        if control.decides == ("condition",):
            self.say(f"if ({self.numbers.text(op['condition'])}) {{")
            with self._scope():
                jump(0)
            self.say("}")
            jump(1)
            return
        self.say(f"switch ({self.numbers.text(op['flag'])}) {{")
        order = [*range(1, len(op.successors)), 0]
        for label, k in zip([*(f"case {n}" for n in op.attrs["values"]), "default"], order):
            self.say(f"{label}: {{")
            with self._scope():
                jump(k)
            self.say("}")
        self.say("}")

    def _call(self, op: Op) -> None:
        callee = self.shared.module.function(op.attrs["callee"])
        arguments = ", ".join(self._argument(v) for v in op.group("args"))
        core = callee.core if callee is not None else ""
        if core and not self.core:
            self.lines.append(f"#if defined({GUARDS[core]})")
        call = f"{function_name(op.attrs['callee'])}({arguments})"
        if op.results and self._uses[op.result]:
            self.set(op.result, call)
        else:
            self.say(f"{call};")
        if core and not self.core:
            self.lines.append("#endif")

    def _argument(self, value: Value) -> str:
        if isinstance(value.type, PartitionView | TensorView):
            raise Unwritable("views are not handed to functions in C++", "hand on the pointer and the sizes")
        return self.name(value) if isinstance(value.type, TileSpec) else self.numbers.text(value)

    # --- memory of the scalar unit, and global memory

    def array(self, op: Op) -> None:
        kind = op.result.type
        assert isinstance(kind, LocalArray)
        sizes = "".join(f"[{n}]" for n in kind.dims)
        name = self._new_name(op.result, "array")
        line = f"{self._type(kind.element)} {name}{sizes} = {{}};"
        if op.result in self._escapes:
            self.top.append(line)
        else:
            self.say(line)

    def _element(self, op: Op) -> str:
        return self.name(op["array"]) + "".join(f"[{self.numbers.text(i)}]" for i in op.group("indices"))

    def array_get(self, op: Op) -> None:
        if self._uses[op.result]:
            self.set(op.result, self._element(op))

    def array_set(self, op: Op) -> None:
        self.say(f"{self._element(op)} = {self.numbers.text(op['value'])};")

    def load(self, op: Op) -> None:
        text = f"{self._pointer(op['ptr'])}[{self.numbers.text(op['index'])}]"
        if self._uses[op.result]:
            self.set(op.result, text)
        else:
            self.say(f"(void){text};")

    def store(self, op: Op) -> None:
        self.say(f"{self._pointer(op['ptr'])}[{self.numbers.text(op['index'])}] = {self.numbers.text(op['value'])};")

    def advance(self, op: Op) -> None:
        text = f"{self._pointer(op['ptr'])} + {self.numbers.text(op['offset'], SUM)}"
        self._type(op.result.type)
        self.define(op.result, Text(text, SUM))

    def cast_pointer(self, op: Op) -> None:
        value = op["value"]
        if not isinstance(value.type, Ptr) or ctype(value.type) is None or ctype(op.result.type) is None:
            raise Unwritable("pointers made of numbers are not written as C++ so far", "use tiles, or a parameter")
        self.define(op.result, Text(f"({ctype(op.result.type)}){self._pointer(value)}", PRODUCT))

    def get_element(self, op: Op) -> None:
        text = f"{self.name(op['src'])}.GetValue({self.numbers.text(op['offset'])})"
        if self._uses[op.result]:
            self.set(op.result, text)

    def set_element(self, op: Op) -> None:
        dst = op["dst"]
        assert isinstance(dst.type, TileSpec)
        value = self.numbers.text(op["value"])
        self.say(f"{self.name(dst)}.SetValue({self.numbers.text(op['offset'])}, {dst.type.dtype.cpp}({value}));")

    # --- instructions

    def _instruction(self, op: Op) -> None:
        instr = instr_of(op)
        if instr is None:
            raise Unwritable("it is not written as C++ so far", "use instructions of tiles")
        if instr.name in _ORDER:
            _ORDER[instr.name](self, op)
            return
        found = None if instr.text_only or op.results else chosen(instr, op)
        if found is None or isinstance(found, str):
            raise Unwritable(found or "it is not written as C++ so far", None if found else "use instructions of tiles")
        tile = next((op[o.name].type for o in instr.operands if o.kind is Kind.TILE and op.get(o.name)), None)
        spec = tile if isinstance(tile, TileSpec) else None
        arguments = [self._argument_of(instr, op, word, spec) for word in found.arguments]
        space = found.form.name.rpartition("::")[0]  # its enumerations are in it, too
        arguments = [f"{space}::{text}" if space and "::" in text else text for text in arguments]
        options = [self._option_of(instr, op, word, spec) for word in found.options]
        inside = f"<{', '.join(options)}>" if options else ""
        self.say(f"{found.form.name}{inside}({', '.join(arguments)});")

    def _argument_of(self, instr: Instr, op: Op, word: Word, tile: TileSpec | None) -> str:
        if word.parts is not None:
            values = ", ".join(self.numbers.text(op[p]) for p in parts_of(word))
            name = self.names.new(word.name.lower())
            self.say(f"{word.name} {name}{f' = {{{values}}}' if values else ''};")
            return name
        value = op.get(word.name)
        if value is None:
            return option(instr, op, word)
        if isinstance(value.type, TileSpec):
            return word.mark.replace("^", "") + self.name(value)
        if isinstance(value.type, PartitionView | TensorView):
            return self.view(value, tile)
        return self.numbers.text(value)

    def _option_of(self, instr: Instr, op: Op, word: Word, tile: TileSpec | None) -> str:
        if word.mark != "^":
            return option(instr, op, word)
        value = op[word.name]
        if isinstance(value.type, TileSpec):
            owner = value.owner
            part = isinstance(owner, Op) and owner.name in ("pto.subset", "pto.subview")
            return self.shared.tile(in_memory(value) if part else value.type)
        if isinstance(value.type, Scalar):
            return self._type(value.type)
        return f"decltype({self.view(value, tile)})"

    def flag(self, op: Op) -> None:
        event = op.get("event")
        id = f"EVENT_ID{op.attrs['event_id']}" if event is None else f"event_t({self.numbers.text(event)})"
        verb = "set_flag" if "set" in op.name else "wait_flag"
        self.say(f"{verb}({op.attrs['src_pipe'].text}, {op.attrs['dst_pipe'].text}, {id});")

    def class_flag(self, op: Op) -> None:
        pipes = [self._class_pipe(op.attrs[k]) for k in ("src_op", "dst_op")]
        verb = "set_flag" if "record" in op.name else "wait_flag"
        self.say(f"{verb}({pipes[0]}, {pipes[1]}, EVENT_ID{op.attrs['event_id']});")

    def _class_pipe(self, name: str) -> str:
        pipe = class_pipe(name, self.function.core or self.core)
        if pipe is None:
            raise Unwritable(f"{name} is on no one pipe", "name the pipes with pto.set_flag and pto.wait_flag")
        return pipe.text

    def barrier(self, op: Op) -> None:
        pipe = op.attrs["pipe"].text if "pipe" in op.attrs else self._class_pipe(op.attrs["op"])
        self.say(f"pipe_barrier({pipe});")

    def core_flag(self, op: Op) -> None:
        event = op.get("event")
        id = str(op.attrs.get("event_id") or 0) if event is None else self.numbers.text(event)
        pipe, sets = op.attrs["pipe"].text, "set" in op.name
        mode = op.attrs.get("ffts_mode")
        mode = 2 if mode is None else mode
        if self.target.is_a(A5) and mode == 2:
            self.say(f"{'set' if sets else 'wait'}_intra_block({pipe}, {id});")
        elif sets:
            self.say(f"ffts_cross_core_sync({pipe}, getFFTSMsg({mode}, {id}));")
        else:
            self.say(f"wait_flag_dev({id});")

    def cache(self, op: Op) -> None:
        pointer = op.get("ptr") or op.get("addr")
        line = op.attrs.get("cache", "SINGLE_CACHE_LINE")
        where = op.attrs.get("where")
        if pointer is None:
            line, shown = "ENTIRE_DATA_CACHE", "(__gm__ void*)0"
        else:
            shown = self._pointer(pointer)
        self.say(f"dcci({shown}, {line}{f', {where}' if where else ''});")

    def fence(self, op: Op) -> None:
        scope = op.attrs.get("scope")
        memory = op.attrs.get("memory") or {"gm": "DDR"}.get(str(scope), "ALL")
        if scope not in (None, "local_memory"):  # what pipes have moved is seen, too
            self.say("pipe_barrier(PIPE_ALL);")
        self.say(f"dsb(DSB_{memory});")


_OWN: dict[str, Callable[[Writer, Op], None]] = {
    "pto.alloc_tile": Writer.alloc,
    "pto.declare_tile": Writer.declare,
    "pto.tassign": Writer.assign,
    **dict.fromkeys(("pto.treshape", "pto.talias", "pto.bitcast"), Writer.shown),
    **dict.fromkeys(("pto.subset", "pto.subview"), Writer.window),
    "pto.set_validshape": Writer.set_valid,
    **dict.fromkeys(("pto.get_validshape", "pto.tile_valid_rows", "pto.tile_valid_cols"), Writer.valid_sizes),
    "pto.alloc_multi_tile": Writer.several,
    "pto.multi_tile_get": Writer.one_of,
    "pto.declare_local_array": Writer.array,
    "pto.local_array_get": Writer.array_get,
    "pto.local_array_set": Writer.array_set,
    "pto.load_scalar": Writer.load,
    "pto.store_scalar": Writer.store,
    "pto.addptr": Writer.advance,
    "pto.castptr": Writer.cast_pointer,
    "pto.tgetval": Writer.get_element,
    "pto.tsetval": Writer.set_element,
    **dict.fromkeys(("pto.make_tensor_view", "pto.partition_view"), Writer.nothing),
    **dict.fromkeys(("pto.get_tensor_view_dim", "pto.get_tensor_view_stride"), Writer.view_size),
}
_ORDER: dict[str, Callable[[Writer, Op], None]] = {
    **dict.fromkeys(("set_flag", "wait_flag", "set_flag_dyn", "wait_flag_dyn"), Writer.flag),
    **dict.fromkeys(("record_event", "wait_event"), Writer.class_flag),
    **dict.fromkeys(("pipe_barrier", "barrier_sync"), Writer.barrier),
    **dict.fromkeys(("sync.set", "sync.wait", "set_cross_block", "wait_cross_block"), Writer.core_flag),
    **dict.fromkeys(("set_intra_block", "wait_intra_block"), Writer.core_flag),
    **dict.fromkeys(("dcci", "cmo.cacheinvalid"), Writer.cache),
    **dict.fromkeys(("dsb", "fence.barrier_all"), Writer.fence),
}


def parameter(writer: Writer, value: Value) -> str:
    """A parameter of a function. Raises `DiagnosticError`."""
    try:
        if isinstance(value.type, TileSpec):
            return f"{writer.shared.tile(value.type)}& {writer.name(value)}"
        return f"{writer._type(value.type)} {writer.name(value)}"
    except Unwritable as cannot:
        raise refusal(WRITE, f"parameter {value.shown}: {cannot.message}", value.location, cannot.hint) from None
