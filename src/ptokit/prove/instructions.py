"""Instructions: what they touch by their meanings and footprints, and what they order.

No instruction is known by name. What the table says of it is enough, or what it touches counts as open: all of a space.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import z3

from ptokit.isa.checks.tiles import pipe_on
from ptokit.isa.order.sync_rules import BUFFER_IDS, bad_pair, flag_pipes, held_pipe
from ptokit.isa.site import UNKNOWN, PtrInfo, ScalarInfo, Site, TileInfo, ViewInfo
from ptokit.isa.table import Engine, Kind, Sync
from ptokit.plan.steps import Step
from ptokit.types.enums import EVENT_ID_COUNT, Pipe
from ptokit.types.values import Ptr, Scalar

from .claims import Fragment
from .cluster import PIPED, Cluster
from .numbers import DATA, Number, lifted, simple
from .places import Pointer, Tile, Touch, View
from .report import Claim
from .state import FlagKey, State, older

_PLACES = {Kind.TILE: Tile, Kind.VIEW: View, Kind.PTR: Pointer}


class Instructions(Cluster):
    """Goes through the steps that touch memory, or order pipes."""

    # --- single elements -----------------------------------------------------------------------------------------

    def on_load_scalar(self, step: Step, state: State) -> Any:
        pointer, index = self.operands(state, step)
        self._element(step, state, pointer, index, write=False)
        return self._open(step, 0, step.result)

    def on_store_scalar(self, step: Step, state: State) -> None:
        _, pointer, index = self.operands(state, step)
        self._element(step, state, pointer, index, write=True)

    def _element(self, step: Step, state: State, pointer: Any, index: Any, *, write: bool) -> None:
        if not isinstance(pointer, Pointer):
            raise Fragment("a pointer that is not followed", step)
        at = simple(lifted(pointer.at) + lifted(self.number(step, "index", index)) * pointer.size)
        touch = Touch(pointer.space, write, at, simple(lifted(at) + pointer.size), at)
        local = pointer.space[0] == "buffer"
        self._reach(step, state, touch)
        self._written(step, state, [touch], ())
        self.access(step, state, Pipe.V if local and self.in_scope else Pipe.S, [touch])

    # --- instructions --------------------------------------------------------------------------------------------

    def on_instruction(self, step: Step, state: State) -> Any:
        instr = step.instr
        assert instr is not None
        assert step.site is not None
        given = dict(zip(step.names, self.operands(state, step)))
        order = instr.order
        piped = PIPED.get(getattr(instr.meaning_at(step.site), "run", None))
        if piped is not None:
            getattr(self, f"_{piped}")(step, state, given)
            return [state]
        if order.between_cores or order.queued:
            raise Fragment(f"{instr.name} orders more than the pipes of a core", step)
        if order.only:
            return self._ordered(step, state, given)
        for operand in instr.operands:
            value, kind = given.get(operand.name), _PLACES.get(operand.kind)
            if isinstance(value, tuple) and any(isinstance(x, Tile | View | Pointer) for x in value):
                raise Fragment(f"{instr.name} of a list of places is not followed", step)
            if kind is not None and value is not None and not isinstance(value, kind):
                raise Fragment(f"operand {operand.name} of {instr.name} is not followed", step)
        site = self._site(step, state, given)
        if instr.engines and self.target.of(instr.engines) is Engine.SEVERAL_PIPES:
            self._hidden(step, state)
        if step.attrs.get("unit_flag"):
            self.leave_open(Claim.FLAGS, "unit flags are not followed", step)
        pipe = pipe_on(instr.pipe_of(site), site.core)
        touches = list(self._touches(step, state, site, given))
        self._written(step, state, touches, self._results(step, state, given))
        self._fill(step, state, site, given, touches)
        self.access(step, state, pipe, touches)
        state.values.update((result, self._made(step, k, result, given)) for k, result in enumerate(step.results))
        state.values.update(self.made(step, state, site, given))
        return [state]

    def _made(self, step: Step, k: int, result: Any, given: Mapping[str, Any]) -> Any:
        kind = result.type
        if isinstance(kind, Ptr):
            pointers = [x for x in given.values() if isinstance(x, Pointer)]
            return self.unknown_like((id(step), k), pointers[0]) if pointers else DATA
        return self._open(step, k, result) if isinstance(kind, Scalar) else DATA

    def _site(self, step: Step, state: State, given: Mapping[str, Any]) -> Site:
        """The site of an instruction with what is known here."""
        static = step.site
        assert static is not None
        infos = dict(static.operands)
        for name, value in given.items():
            info = infos.get(name)
            if isinstance(value, Tile):
                rows, cols = self.valid(state, value, step)
                sizes = [n if isinstance(n, int) else UNKNOWN for n in (rows, cols, value.at)]
                shown = info.name if isinstance(info, TileInfo) else name
                infos[name] = TileInfo(shown, value.spec, *sizes)
            elif isinstance(value, View) and isinstance(info, ViewInfo):
                shape, stride = (_five(n, fill) for n, fill in ((value.sizes, 1), (value.strides, UNKNOWN)))
                infos[name] = replace(info, shape=shape, stride=stride)
            elif isinstance(value, Pointer) and isinstance(info, PtrInfo):
                infos[name] = replace(info, addr=value.at if isinstance(value.at, int) else UNKNOWN)
            elif isinstance(value, int) and isinstance(info, ScalarInfo):
                infos[name] = replace(info, value=value)
        return replace(static, operands=infos, attrs=step.attrs)

    # --- order ---------------------------------------------------------------------------------------------------

    def _ordered(self, step: Step, state: State, given: Mapping[str, Any]) -> list[State]:
        assert step.instr is not None
        assert step.site is not None
        does, core = step.instr.order.does, step.site.core or self.core
        if self.by_compiler or does is Sync.WITHIN:
            return [state]
        match does:
            case Sync.SET | Sync.WAIT:
                return self._flag(step, state, given, flag_pipes(step.attrs, core), core)
            case Sync.BARRIER:
                if held_pipe(step.attrs, core) is Pipe.ALL:
                    state.drained()
                return [state]
            case Sync.TAKE | Sync.RELEASE:
                pipe = held_pipe(step.attrs, core)
                number = given.get("buf", step.attrs.get("id"))
                return [state] if pipe in (None, Pipe.ALL) else self._token(step, state, pipe, number)
            case Sync.WORK:
                return [state]  # that it waits is not followed: pipes then count as unordered
        raise Fragment(f"{step.instr.name} is not followed", step)

    def _flag(self, step: Step, state: State, given: Mapping[str, Any], pipes: Any, core: str) -> list[State]:
        src, dst = pipes
        if src is None or dst is None:
            return [state]
        if (message := bad_pair(src, dst, core)) is not None:
            self.suspect(Claim.IDS, "FLAG-PIPE", step, state.facts, message)
            return [state]
        event = given.get("event")
        number = step.attrs.get("event_id", 0) if event is None else self.number(step, "event", event)
        text = f"event ids are 0..{EVENT_ID_COUNT - 1}"
        inside = simple(z3.And(lifted(number) >= 0, lifted(number) < EVENT_ID_COUNT))
        self.oblige(Claim.IDS, "FLAG-RANGE", step, state.facts, inside, text)
        assert step.instr is not None
        does = self._set if step.instr.order.does is Sync.SET else self._wait
        return [does(step, way, (src, dst, n)) for n, way in self._each(state, number, EVENT_ID_COUNT)]

    def _each(self, state: State, number: Number, count: int) -> Iterator[tuple[int, State]]:
        """The numbers that one may be, each with a state of its own."""
        if isinstance(number, int):
            if 0 <= number < count:
                yield number, state
            return
        for n in range(count):
            facts = (*state.facts, simple(number == n))
            if facts[-1] is not False and self.solver.possible(facts):
                way = state.copy()
                way.facts = facts
                yield n, way

    def _set(self, step: Step, state: State, key: FlagKey) -> State:
        src, dst, number = key
        flag = f"{src.text} to {dst.text}, id {number}"
        if key in state.flags:
            self.suspect(Claim.IDS, "FLAG-REUSE", step, state.facts, f"the flag {flag} is set again before a wait")
        if src.name in self.target.one_flag_per_id and any(
            k[0] is src and k[2] == number and k[1] is not dst for k in state.flags
        ):
            text = f"the flag {flag} is set while one of the same pipe and id is"
            self.suspect(Claim.IDS, "FLAG-ALIAS", step, state.facts, text)
        mine = dict(state.unknown[src])
        state.flags[key] = older(mine, state.flags[key]) if key in state.flags else mine
        return state

    def _wait(self, step: Step, state: State, key: FlagKey) -> State:
        src, dst, number = key
        ages = state.flags.pop(key, None)
        if ages is None:
            text = f"nothing before it sets the flag {src.text} to {dst.text}, id {number}"
            self.suspect(Claim.FLAGS, "DEADLOCK", step, state.facts, text)
        else:
            state.told(dst, ages)
        return state

    def _hidden(self, step: Step, state: State) -> None:
        """An instruction of several pipes uses a flag of id 0 itself."""
        if any(number == 0 for _, _, number in state.flags):
            self.suspect(Claim.IDS, "FLAG-REUSE", step, state.facts, f"{step.name} uses EVENT_ID0, which is set")

    def _token(self, step: Step, state: State, pipe: Any, number: Any) -> list[State]:
        number = self.number(step, "token", number)
        inside = simple(z3.And(lifted(number) >= 0, lifted(number) < BUFFER_IDS))
        self.oblige(Claim.IDS, "BUF-PROTOCOL", step, state.facts, inside, f"tokens are 0..{BUFFER_IDS - 1}")
        assert step.instr is not None
        does = self._take if step.instr.order.does is Sync.TAKE else self._release
        return [does(step, way, pipe, n) for n, way in self._each(state, number, BUFFER_IDS)]

    def _take(self, step: Step, state: State, pipe: Pipe, token: int) -> State:
        known = state.tokens.setdefault(token, {})
        if known.get(pipe, {}) is None:
            text = f"{pipe.text} takes token {token}, which it holds"
            self.suspect(Claim.FLAGS, "BUF-PROTOCOL", step, state.facts, text)
            return state
        for other, ages in known.items():
            if ages is None:
                text = f"{other.text} holds token {token}, and gives it back later"
                self.suspect(Claim.FLAGS, "DEADLOCK", step, state.facts, text)
            else:
                state.told(pipe, ages)
        known[pipe] = None
        return state

    def _release(self, step: Step, state: State, pipe: Pipe, token: int) -> State:
        known = state.tokens.get(token, {})
        if known.get(pipe, {}) is not None:
            text = f"{pipe.text} gives back token {token}, which it does not hold"
            self.suspect(Claim.FLAGS, "BUF-PROTOCOL", step, state.facts, text)
            return state
        known[pipe] = dict(state.unknown[pipe])
        return state


def _five(sizes: tuple[Number, ...], fill: Any) -> Any:
    return (*(fill for _ in range(5 - len(sizes))), *(n if isinstance(n, int) else UNKNOWN for n in sizes))[-5:]
