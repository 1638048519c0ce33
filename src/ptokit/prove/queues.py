"""Pipes that wait for a flag which is set later in the text.

The scalar unit goes on, and the pipe has a queue of what comes after its wait. That is executed once the flag is set:
each pipe in its own order, as a device does it. One such order is enough, since no pipe takes from another what it may
do. Where the scalar unit depends on what is queued, or an iteration ends before it is executed, the program is gone
through once more in the order of its text, in which such a wait is suspected never to end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ptokit.plan.steps import Step
from ptokit.types.enums import Pipe

from .claims import Found
from .numbers import key_of
from .places import Touch
from .report import Claim
from .signals import Signals
from .state import Body, Ended, FlagKey, Queued, State, older


class _Late(Exception):
    """Something in a queue would have to be executed now."""


class Queues(Signals):
    """Sets and waits for flags. ``delays``: a pipe may wait for a flag that is set later in the text."""

    delays = True

    def delayed(self, run: Callable[[], None]) -> None:
        """Go through the program, at last in the order of its text."""
        try:
            run()
        except _Late:
            self.delays, self.in_scope, self.late, self.looks = False, False, False, True
            self.found, self.frames, self.loops_seen, self._steps = Found(), [], {}, 0
            run()

    def in_order(self, state: State) -> None:
        """What comes now may depend on everything before it."""
        if state.queued:
            raise _Late

    def access(self, step: Step, state: State, pipe: Pipe, touches: Sequence[Touch]) -> None:
        if pipe is Pipe.S or (self.in_scope and pipe in state.queued):
            self.in_order(state)
        super().access(step, state, pipe, touches)

    def counting(self, body: Body, state: State) -> Body:
        counted = super().counting(body, state)

        def run(begun: State) -> Iterator[Ended]:
            for each in counted.run(begun):
                if any(len(x.frames) >= len(self.frames) for queue in each[0].queued.values() for x in queue):
                    raise _Late
                yield each

        return Body(counted.args, counted.first, run, counted.steps)

    def ended(self, state: State) -> None:
        """A core comes to its end."""
        self.in_order(state)
        for src, dst, number in state.flags:
            text = f"the flag {src.text} to {dst.text}, id {number}, is still set at the end"
            self.suspect(Claim.FLAGS, "FLAG-UNMATCHED", None, state.facts, text)

    # --- queues --------------------------------------------------------------------------------------------------

    def waits(
        self, step: Step, state: State, pipe: Pipe, touches: Sequence[Touch], run: Callable[[State], Any]
    ) -> bool:
        """Put an instruction into the queue of its pipe, if that waits."""
        if pipe not in state.queued:
            return False
        if self.in_scope:
            raise _Late
        self._queue(state, pipe, (id(step), *(touch.identity for touch in touches)), run)
        return True

    def _queue(self, state: State, pipe: Pipe, key: Any, run: Callable[[State], Any], **flag: Any) -> None:
        full = key, self.context, tuple(map(key_of, state.facts))
        made = Queued(full, run, tuple(self.frames), state.facts, **flag)
        state.queued[pipe] = (*state.queued.get(pipe, ()), made)

    def _advance(self, state: State) -> None:
        """Execute what need not wait any more."""
        moved = True
        while moved:
            moved = False
            for pipe in list(state.queued):
                while pipe in state.queued:
                    first, *rest = state.queued[pipe]
                    if first.awaits is not None and first.awaits not in state.flags:
                        break
                    self._execute(first, state)
                    moved = True
                    if rest:
                        state.queued[pipe] = tuple(rest)
                    else:
                        del state.queued[pipe]

    def _execute(self, item: Queued, state: State) -> None:
        now = state.facts, self.frames, self.late
        state.facts, self.frames, self.late = item.facts, list(item.frames), True
        item.run(state)
        state.facts, self.frames, self.late = now

    # --- flags ---------------------------------------------------------------------------------------------------

    def set_so_far(self, state: State, key: FlagKey) -> int:
        """How often a flag has been set in the text, and not been waited for; less than 0: waits before their sets."""
        queued = [each for queue in state.queued.values() for each in queue]
        return (key in state.flags) + sum((x.sets == key) - (x.awaits == key) for x in queued)

    def _issued(self, state: State) -> set[FlagKey]:
        queued = (each.sets for queue in state.queued.values() for each in queue)
        return {*state.flags, *(key for key in queued if key is not None)}

    def set_flag(self, step: Step, state: State, key: FlagKey) -> State:
        """A pipe sets a flag when it comes to that."""
        src, dst, number = key
        flag, before = f"{src.text} to {dst.text}, id {number}", self.set_so_far(state, key)
        if before > 0:
            self.suspect(Claim.IDS, "FLAG-REUSE", step, state.facts, f"the flag {flag} is set again before a wait")
        if src.name in self.target.one_flag_per_id and before >= 0:
            alike = (k for k in self._issued(state) if k[0] is src and k[2] == number and k[1] is not dst)
            if any(self.set_so_far(state, k) > 0 for k in alike):
                text = f"the flag {flag} is set while one of the same pipe and id is"
                self.suspect(Claim.IDS, "FLAG-ALIAS", step, state.facts, text)
        if src in state.queued:
            self._queue(state, src, ("set", key), lambda then: self._set(then, key), sets=key)
        else:
            self._set(state, key)
            self._advance(state)
        return state

    def _set(self, state: State, key: FlagKey) -> None:
        mine = dict(state.unknown[key[0]])
        if key in state.flags and state.queued:
            raise _Late  # the flag would count
        state.flags[key] = older(mine, state.flags[key]) if key in state.flags else mine

    def wait_flag(self, step: Step, state: State, key: FlagKey) -> State:
        """A pipe waits for a flag; what comes after that on the pipe waits, too."""
        src, dst, number = key
        if dst is Pipe.S:
            self.in_order(state)
        elif self.delays and (dst in state.queued or key not in state.flags):
            self._queue(state, dst, ("wait", key), lambda then: then.told(dst, then.flags.pop(key)), awaits=key)
            return state
        ages = state.flags.pop(key, None)
        if ages is None:
            text = f"nothing before it sets the flag {src.text} to {dst.text}, id {number}"
            self.suspect(Claim.FLAGS, "DEADLOCK", step, state.facts, text)
            if dst is not Pipe.S:
                self.leave_open(Claim.WRITTEN, "what comes after a wait may be executed after what comes later", step)
        else:
            state.told(dst, ages)
        return state

    def hidden(self, step: Step, state: State) -> None:
        """An instruction of several pipes uses a flag of id 0 itself."""
        if any(key[2] == 0 and self.set_so_far(state, key) > 0 for key in self._issued(state)):
            self.suspect(Claim.IDS, "FLAG-REUSE", step, state.facts, f"{step.name} uses EVENT_ID0, which is set")
