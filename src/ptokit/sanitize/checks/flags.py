"""Flags and tokens in program order: what is set twice, never consumed, or not held (memory-model-and-sync 11.7)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ptokit.diagnostics import Note
from ptokit.targets import Target
from ptokit.types.enums import Pipe

from ..findings.folded import Draft, Findings
from ..findings.insertion import COMPOSITE_PIPES
from ..findings.spelling import flag_code, flag_text
from ..simulation.clocks import COMPONENTS
from ..simulation.core import Core
from ..simulation.events import FlagKey, GetToken, Item, ReleaseToken, SetFlag, WaitFlag

OPTIONAL = frozenset(("FLAG-REUSE-RACE", "FLAG-ALIAS"))
"""Rules about things that no public text decides, off by default; FLAG-ALIAS but for the pipes where a device hangs."""


def alias_pipes(also: frozenset[str], target: Target) -> frozenset[str]:
    """The source pipes for which FLAG-ALIAS is looked at."""
    every = frozenset(pipe.name for pipe in COMPONENTS)
    return every if "FLAG-ALIAS" in also else target.one_flag_per_id


class ProgramOrder:
    """The flags and tokens of one core, as the scalar unit issues them."""

    def __init__(self, core: Core, findings: Findings, *, alias: frozenset[str] = frozenset()) -> None:
        self.core, self.findings = core, findings
        self._alias = alias  # source pipes
        self._sets: dict[FlagKey, list[SetFlag]] = {}  # not waited for yet
        self._ahead: dict[FlagKey, int] = {}  # waits that stand before their sets
        self._reused: set[FlagKey] = set()
        self._held: dict[tuple[Pipe, int], GetToken] = {}
        self._taken: dict[int, dict[Pipe, GetToken]] = {}  # by token and pipe, the last

    def issue(self, item: Item) -> bool:
        """The next item. False if it breaks the protocol of tokens and is to be ignored."""
        match item:
            case SetFlag():
                self._set(item)
            case WaitFlag():
                waiting = self._sets.get(item.key)
                if waiting:
                    waiting.pop(0)
                else:
                    self._ahead[item.key] = self._ahead.get(item.key, 0) + 1
            case GetToken():
                return self._get(item)
            case ReleaseToken():
                return self._release(item)
            case _:
                pass
        return True

    def _set(self, item: SetFlag) -> None:
        key = item.key
        if self._ahead.get(key):
            self._ahead[key] -= 1
            return
        if key[0].name in self._alias:
            self._aliased(item)
        waiting = self._sets.setdefault(key, [])
        if waiting:
            first = waiting[-1]
            self._reused.add(key)

            def make() -> Draft:
                message = (
                    f"{flag_code('set', key, item.op)} again, before the flag was waited for: one of the sets is lost"
                )
                hint = "use another event id, or wait for the first set before this one"
                return Draft(message, item.op.location, hint, [Note("set here", first.op.location)])

            self.findings.add("FLAG-REUSE", (first.op, item.op, key), self.core, item, make)
        waiting.append(item)

    def _aliased(self, item: SetFlag) -> None:
        """FLAG-ALIAS: the id is set for another destination of the same pipe."""
        for key, waiting in self._sets.items():
            if waiting and key[0] is item.key[0] and key[2] == item.key[2] and key[1] is not item.key[1]:
                make = partial(_alias, item, waiting[-1])
                self.findings.add("FLAG-ALIAS", (waiting[-1].op, item.op), self.core, item, make)

    def hidden(self, item: Item) -> None:
        """A composite instruction uses EVENT_ID0 of the pairs of its pipes itself: they must be clear (2.1)."""
        for key, waiting in self._sets.items():
            if waiting and key[2] == 0 and key[0] in COMPOSITE_PIPES and key[1] in COMPOSITE_PIPES:
                make = partial(_hidden, key, item, waiting[-1])
                self.findings.add("FLAG-REUSE", (waiting[-1].op, item.op, key), self.core, item, make)

    def _get(self, item: GetToken) -> bool:
        holder = self._held.get((item.pipe, item.token))
        if holder is None:
            self._held[item.pipe, item.token] = item
            before = self._taken.setdefault(item.token, {})
            item.after = tuple(before.values())
            before[item.pipe] = item
            return True

        def make() -> Draft:
            message = f"{item.pipe.text} takes token {item.token}, which it already holds"
            return Draft(message, item.op.location, "rls_buf first", [Note("taken here", holder.op.location)])

        self.findings.add("BUF-PROTOCOL", (item.op, item.token), self.core, item, make)
        return False

    def _release(self, item: ReleaseToken) -> bool:
        item.taken = self._held.pop((item.pipe, item.token), None)
        if item.taken is not None:
            return True

        def make() -> Draft:
            message = f"{item.pipe.text} gives back token {item.token}, which it does not hold"
            return Draft(message, item.op.location, "get_buf first, with the same pipe and token")

        self.findings.add("BUF-PROTOCOL", (item.op, item.token), self.core, item, make)
        return False

    def finish(self) -> None:
        """Report what is still set at the end of the kernel."""
        for key, item in self._unmatched():
            self.findings.add("FLAG-UNMATCHED", (item.op, key), self.core, item, partial(_unmatched, key, item))

    def _unmatched(self) -> Iterator[tuple[FlagKey, SetFlag]]:
        for key, waiting in self._sets.items():
            if waiting and key not in self._reused:
                yield key, waiting[-1]


def _alias(item: SetFlag, other: SetFlag) -> Draft:
    flag = flag_code("set", item.key, item.op)
    message = f"{flag} while ({flag_text(other.key, other.op)}), of the same pipe and id, is set"
    return Draft(message, item.op.location, "use another event id", [Note("set here", other.op.location)])


def reuse_race(findings: Findings, core: Core, item: SetFlag, wait: WaitFlag | None) -> None:
    """FLAG-REUSE-RACE: nothing orders the previous wait of a flag before it is set again."""

    def make() -> Draft:
        message = f"{flag_code('set', item.key, item.op)} may happen before the flag has been waited for the last time"
        back = f"{item.key[1].text} before {item.key[0].text}"
        hint = f"order {back} with a flag the other way round, or use two ids in turn"
        notes = [] if wait is None else [Note("the wait is here", wait.op.location)]
        return Draft(message, item.op.location, hint, notes)

    findings.add("FLAG-REUSE-RACE", (item.op, item.key), core, item, make)


def _hidden(key: FlagKey, item: Item, source: SetFlag) -> Draft:
    message = f"{item.name} uses flag ({flag_text(key, item.op)}) itself, while it is set"
    hint = "wait for the flag first, or use another event id"
    return Draft(message, item.op.location, hint, [Note("set here", source.op.location)])


def _unmatched(key: FlagKey, item: SetFlag) -> Draft:
    message = f"{flag_code('set', key, item.op)} is never waited for: the flag is still set when the kernel ends"
    return Draft(message, item.op.location, f"add {flag_code('wait', key, item.op)} at the end, or remove the set")
