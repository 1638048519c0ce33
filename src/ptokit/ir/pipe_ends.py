"""What the two ends of a pipe must agree on (PI-8). An end is one initialize op."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import field

from ptokit.diagnostics import Diagnostics, Note
from ptokit.records import dataclass

from .core import Function, Op, Value

Key = tuple[str, str, int]
"""A logical pipe: function and name of the reserved buffer, direction (1 cube to vector, 2 vector to cube)."""


@dataclass(eq=False)
class End:
    """An initialize op, the buffers its slots lie in, the splits of its pushes, pops and frees, and their tiles."""

    op: Op
    function: Function
    local: Value | None
    peer: Value | None
    splits: list[int] = field(default_factory=list)
    moved: list[tuple[Op, int, bool]] = field(default_factory=list)  # tiles: op, direction, whether it pushes

    @property
    def dir_mask(self) -> int:
        """The directions of the pipe as a mask; 0 where none is stated."""
        mask = self.op.attrs.get("dir_mask", 0)
        return mask if isinstance(mask, int) else 0

    @property
    def flags(self) -> range:
        """The numbers of its flags, where they are stated: two for each direction."""
        first = self.op.attrs.get("flag_base")
        return range(first, first + (4 if self.dir_mask == 3 else 2)) if isinstance(first, int) else range(0)

    def keys(self) -> list[Key]:
        """The pipes it is an end of; empty if no buffer is reserved or imported."""
        places = [(self.local, 1), (self.peer, 2)] if self.dir_mask == 3 else [(self.local, self.dir_mask)]
        out = []
        for value, direction in places:
            owner = value.owner if value is not None else None
            if isinstance(owner, Op) and owner.name == "pto.reserve_buffer":
                out.append((self.function.name, owner.attrs.get("name", ""), direction))
            elif isinstance(owner, Op) and owner.name == "pto.import_reserved_buffer":
                out.append((owner.attrs.get("peer_func", "").removeprefix("@"), owner.attrs.get("name", ""), direction))
        return out


def check_ends(ends: list[End], found: Diagnostics) -> list[list[End]]:
    """Report ends without a place, pipes without two ends, and ends that disagree. Gives those that belong together."""
    groups: dict[Key, list[End]] = defaultdict(list)
    for end in ends:
        keys = end.keys()
        for key in keys:
            groups[key].append(end)
        tensors = end.op.get("gm_slot_tensor") is not None or end.op.get("local") is None is end.op.get(
            "c2v_consumer_buf"
        )
        if not keys and end.op.attrs.get("flag_base") is None and not (tensors and end.local is None):
            found.error(
                "PI-8",
                "the local buffer is neither reserved nor imported, and there is no flag_base",
                end.op.location,
                hint="use the result of pto.reserve_buffer or pto.import_reserved_buffer",
            )
    for (owner, name, _), group in groups.items():
        functions = {end.function.name for end in group}
        if len(group) != 2 or len(functions | {owner}) != 2 or len(functions) != 2:
            where = ", ".join(f"@{f}" for f in sorted(functions))
            message = f'the pipe over buffer "{name}" of @{owner} has ends in {where} only; it needs one at each side'
            if len(group) > len(functions) or len(functions | {owner}) > 2:
                message = f'the pipe over buffer "{name}" of @{owner} has {len(group)} ends, in {where}; it has two'
            found.error("PI-8", message, group[0].op.location)
        bases = {end.op.attrs["flag_base"]: end for end in group if end.op.attrs.get("flag_base") is not None}
        _disagree("flag_base", bases, found)
    together = _components(ends, groups)
    for joined in together:
        _splits(joined, found)
    for i, end in enumerate(ends):
        for earlier in ends[:i]:
            _shared_flags(earlier, end, found)
    return _by_flags(together)


def _by_flags(together: list[list[End]]) -> list[list[End]]:
    """The same, and ends of several functions with the same flags, which have no buffer in common, in one list."""
    joined: dict[object, list[End]] = {}
    for ends in together:
        single = len(ends) == 1 and not ends[0].keys() and ends[0].flags
        joined.setdefault(ends[0].flags if single else id(ends), []).extend(ends)
    return list(joined.values())


def _shared_flags(one: End, other: End, found: Diagnostics) -> None:
    """Report PIPE-FLAGS for two pipes of a function."""
    first, second = one.flags, other.flags
    if one.function is not other.function or not set(one.keys()).isdisjoint(other.keys()):
        return
    if common := sorted(set(first) & set(second)):
        message = f"this pipe has flags {_span(second)}; another one has {_span(common)}, too"
        note = Note(f"it has flags {_span(first)}", one.op.location)
        found.error("PIPE-FLAGS", message, other.op.location, hint=f"{first.stop} is free", notes=[note])


def _span(flags: Sequence[int]) -> str:
    return f"{flags[0]} to {flags[-1]}" if len(flags) > 1 else str(flags[0])


def _disagree(what: str, values: dict[object, End], found: Diagnostics) -> None:
    if len(values) > 1:
        (first, one), (second, other) = list(values.items())[:2]
        note = Note(f"{what} is {_word(first)} here", one.op.location)
        message = f"{what} is {_word(second)}, at the other end {_word(first)}"
        found.error("PI-8", message, other.op.location, notes=[note])


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _components(ends: list[End], groups: dict[Key, list[End]]) -> list[list[End]]:
    """Ends that share a buffer, directly or through others."""
    component = {end: [end] for end in ends}
    for group in groups.values():
        for end in group[1:]:
            a, b = component[group[0]], component[end]
            if a is not b:
                a += b
                for member in b:
                    component[member] = a
    unique = {id(members): members for members in component.values()}
    return list(unique.values())


def _splits(ends: list[End], found: Diagnostics) -> None:
    used: dict[object, End] = {}
    for end in ends:
        whole = {split == 0 for split in end.splits}
        if len(whole) == 2:
            found.error("PI-8", "split = 0 and split = 1 or 2 on one pipe", end.op.location)
            return
        for word in whole:
            used.setdefault("split = 0" if word else "split = 1 or 2", end)
    _disagree("the pipe's use", used, found)
    stated: dict[object, End] = {}
    for end in ends:
        if end.op.attrs.get("nosplit") is not None:
            stated.setdefault(end.op.attrs["nosplit"], end)
    _disagree("nosplit", stated, found)
    if len(used) == 1 and len(stated) == 1:
        ((use, user),), ((nosplit, end),) = used.items(), stated.items()
        if nosplit != (use == "split = 0"):
            note = Note("at this end", user.op.location)
            found.error(
                "PI-8", f"nosplit = {_word(nosplit)}, but the pipe is used with {use}", end.op.location, notes=[note]
            )
