"""Random small programs, as text for the sanitizer and as steps for the explorer.

A program is work with all the synchronisation it needs, of which some is then taken away or misplaced; or work and
synchronisation thrown together.
"""

from __future__ import annotations

import random

from .explorer import Step
from .mini import Mini
from .random_work import TENSOR_BITS, CubeMenu, Menu, Node, Operand, Where

# --- synchronisation ---------------------------------------------------------------------------------------------


def flag(verb: str, p: str, q: str, n: int) -> Node:
    """set_flag or wait_flag."""
    text = f"pto.{verb}_flag[<PIPE_{p}>, <PIPE_{q}>, <EVENT_ID{n}>]"
    return Node(text, verb, p if verb == "set" else q, key=(p, q, n))


def turning_flag(verb: str, p: str, q: str) -> Node:
    """The same with the number of the iteration as id."""
    text = f"pto.{verb}_flag_dyn[<PIPE_{p}>, <PIPE_{q}>, %IV]"
    return Node(text, verb, p if verb == "set" else q, key=(p, q, "turn"))


def barrier(p: str) -> Node:
    return Node(f"pto.barrier <PIPE_{p}>", "barrier", p)


def token(verb: str, menu: Menu, pipe: str, n: int) -> Node:
    return Node(f"pto.{verb}_buf [#pto.pipe_event_type<{menu.event_class(pipe)}>, {n}]", verb, pipe, key=("token", n))


def signal(pipe: str, event: int, mode: int = 0) -> Node:
    return Node(f"pto.sync.set <PIPE_{pipe}>, {event} {{ffts_mode = {mode} : i32}}", "signal", pipe, key=(event,))


def awaiting(pipe: str, event: int) -> Node:
    return Node(f"pto.sync.wait <PIPE_{pipe}>, {event}", "await", pipe, key=(event,))


class Draw:
    """One random program."""

    cluster = False
    several = 0.3  # how likely there are two blocks

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.target = rng.choice(("a2a3", "a5"))
        self.profile = rng.random() < 0.25
        self.blocks = 2 if rng.random() < self.several else 1
        cube = rng.random() < 0.3
        self.menu = (CubeMenu if cube else Menu)(rng, range(self.blocks))
        self.output = rng.random() < 0.3  # y starts uninitialised
        self.ids: dict[tuple[str, str], int] = {}
        self.meetings: dict[int, tuple[str, str]] = {}
        self.loss = rng.choice((0.0, 0.0, 0.1, 0.35))
        self.chaos = rng.random() < 0.3
        self.tokens = self.target == "a5" and not cube and rng.random() < 0.3
        self.body = self._program()

    def _program(self) -> list[Node]:
        rng, menu = self.rng, self.menu
        length = rng.randint(3, 9) if self.blocks == 1 else rng.randint(2, 4)
        nodes: list[Node] = []
        if rng.random() < 0.7:
            nodes = [menu.first_write(t) for t in menu.tiles if "s" not in t.name and t.kind != "acc"]
            nodes = self._tidy(nodes, False) if rng.random() < 0.5 else [*nodes, barrier("ALL")]
        while length > 0:
            style = rng.random()
            if style < 0.3 and length >= 2:
                n = rng.randint(1, 4 if self.blocks == 1 else 2)
                turns = rng.choice((2, 3)) if self.blocks == 1 else 2
                nodes += self._loop(n, turns)
                length -= n * turns
            elif style < 0.5 and self.blocks > 1:
                ours, theirs = self._straight(rng.randint(1, 2)), self._straight(rng.randint(0, 2))
                nodes += [*self._fence(), Node("if", body=ours, other=theirs), *self._fence()]
                length -= 2
            elif style < 0.6 and self.blocks > 1:
                nodes += self._meeting()
            else:
                n = rng.randint(1, max(1, length))
                nodes += self._straight(n)
                nodes += self._fence()
                length -= n
        return nodes

    def _lost(self) -> bool:
        return self.rng.random() < self.loss

    def _fence(self) -> list[Node]:
        return [] if self.chaos or self._lost() else [barrier("ALL")]

    def _meeting(self) -> list[Node]:
        """All blocks meet. Each event has its pipes: signals of two pipes would count in either order."""
        rng, out = self.rng, []
        event = rng.randint(0, 3)
        before, after = self.meetings.setdefault(event, (rng.choice(self.menu.pipes), rng.choice(self.menu.pipes)))
        if not self._lost():
            out.append(signal(before, event))
        if not self._lost():
            out.append(awaiting(after, event))
        return [*self._fence(), *out] if rng.random() < 0.7 else out

    def _straight(self, n: int) -> list[Node]:
        return self._tidy([self.menu.work(False) for _ in range(n)], False)

    def _loop(self, n: int, turns: int) -> list[Node]:
        rng = self.rng
        work = [self.menu.work(True) for _ in range(n)]
        body = self._tidy(work, True)
        before, after = [], []
        if not self.chaos:
            if rng.random() < 0.5:
                body += self._fence()
            else:  # primed and drained
                for p in {w.pipe for w in work} - {"S"}:
                    for q in {w.pipe for w in work} - {p, "S"}:
                        n_id = self._id(p, q)
                        if n_id is None or self._lost():
                            continue
                        before.append(flag("set", p, q, n_id))
                        body.insert(0, flag("wait", p, q, n_id))
                        body.append(flag("set", p, q, n_id))
                        if rng.random() < 0.95:
                            after.append(flag("wait", p, q, n_id))
        return [*before, Node("for", turns=turns, body=body), *after, *self._fence()]

    def _id(self, p: str, q: str) -> int | None:
        used = self.ids.get((p, q), 0)
        self.ids[p, q] = used + 1
        return used if used < 8 else None

    # --- work with what it needs ---------------------------------------------------------------------------------

    def _tidy(self, work: list[Node], turning: bool) -> list[Node]:
        if self.chaos:
            return self._thrown(work, turning)
        if self.tokens:
            return self._guarded(work)
        before: list[list[Node]] = [[] for _ in work]
        after: list[list[Node]] = [[] for _ in work]
        known: list[tuple[str, str, int, int]] = []
        for j, b in enumerate(work):
            for i in range(j - 1, -1, -1):
                a = work[i]
                if not self._depends(a, b):
                    continue
                if a.pipe == b.pipe:
                    if self.profile and not self._lost():
                        before[j].append(barrier(b.pipe))
                    continue
                if any(k[:2] == (a.pipe, b.pipe) and k[2] >= i and k[3] <= j for k in known):
                    continue
                known.append((a.pipe, b.pipe, i, j))
                self._edge(a, b, after[i], before[j], turning)
        return [n for i, w in enumerate(work) for n in (*before[i], w, *after[i])]

    def _edge(self, a: Node, b: Node, after: list[Node], before: list[Node], turning: bool) -> None:
        rng = self.rng
        if self._lost():
            return
        style = rng.random()
        n = self._id(a.pipe, b.pipe)
        if style < 0.1 or n is None:
            before.append(barrier("ALL"))
            return
        if style < 0.2 and a.pipe != "S" and b.pipe != "S":
            after.append(flag("set", a.pipe, "S", n))
            before.append(flag("wait", a.pipe, "S", n))
            return
        if style < 0.3 and turning:
            after.append(turning_flag("set", a.pipe, b.pipe))
            before.append(turning_flag("wait", a.pipe, b.pipe))
            return
        p, q = (a.pipe, b.pipe) if rng.random() > self.loss / 3 else (b.pipe, a.pipe)
        if rng.random() > self.loss / 4:
            after.append(flag("set", p, q, n))
        if rng.random() > self.loss / 4:
            before.insert(0, flag("wait", p, q, n))

    def _depends(self, a: Node, b: Node) -> bool:
        ways = [Where(core, turn) for core in self.menu.cores for turn in range(3)]

        def places(operands: tuple[Operand, ...]) -> int:
            out = 0
            for o in operands:
                for at in ways:
                    out |= o.places(at)
            return out

        return bool(places(a.writes) & (places(b.reads) | places(b.writes)) or places(a.reads) & places(b.writes))

    def _guarded(self, work: list[Node]) -> list[Node]:
        """With tokens: one for each tile group."""
        out: list[Node] = []
        for w in work:
            groups = sorted({o.group for o in (*w.reads, *w.writes) if o.group})
            numbers = [n for n, g in enumerate(sorted({t.group for t in self.menu.tiles})) if g in groups]
            if w.pipe == "S" or self._lost():
                out.append(w)
                continue
            if self.rng.random() < self.loss / 3:
                self.rng.shuffle(numbers)
            gets = [token("get", self.menu, w.pipe, n) for n in numbers]
            gives = [token("rls", self.menu, w.pipe, n) for n in numbers if self.rng.random() > self.loss / 8]
            out += [*gets, w, *gives]
        while self._lost():  # a flag that nobody needs, and that may hold a pipe up
            p, q = self.rng.sample(self.menu.pipes, 2)
            n = self._id(p, q)
            if n is not None:
                out.insert(self.rng.randint(0, len(out)), flag("set", p, q, n))
                out.insert(self.rng.randint(0, len(out)), flag("wait", p, q, n))
        return out

    def _thrown(self, work: list[Node], turning: bool) -> list[Node]:
        rng, out = self.rng, list(work)
        pipes = (*self.menu.pipes, "S")
        for _ in range(rng.randint(0, len(work) + 1)):
            p, q = rng.sample(pipes, 2)
            n = rng.randint(0, 2)
            i = rng.randint(0, len(out))
            k = rng.randint(i, len(out)) if rng.random() < 0.85 else rng.randint(0, i)
            match rng.randint(0, 9):
                case 0:
                    out.insert(i, barrier(rng.choice((*self.menu.pipes, "ALL"))))
                case 1:
                    out.insert(i, self.menu.sync())
                case 2 if self.target == "a5" and p != "S":
                    out.insert(max(i, k), token("rls", self.menu, p, n))
                    out.insert(min(i, k), token("get", self.menu, p, n))
                case 3 if turning:
                    out.insert(max(i, k), turning_flag("wait", p, q))
                    out.insert(min(i, k), turning_flag("set", p, q))
                case _:
                    first, second = flag("set", p, q, n), flag("wait", p, q, n)
                    if rng.random() < 0.95:
                        out.insert(k, second)
                    out.insert(min(i, len(out)), first)
        return out


class ClusterDraw(Draw):
    """A program of a cube core and its vector cores, which hand over to one another."""

    cluster = True
    losses: tuple[float, ...] = (0.0, 0.0, 0.1, 0.35)
    thrown = 0.2

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.blocks, self.ids, self.meetings = rng, 1, {}, {}
        self.target = rng.choice(("a2a3", "a5"))
        self.profile, self.output = rng.random() < 0.2, rng.random() < 0.3
        self.loss = rng.choice(self.losses)
        self.chaos, self.tokens = rng.random() < self.thrown, False
        self.cube, self.vector = CubeMenu(rng, range(1)), Menu(rng, range(1, 3), "%sub", apart=0.85)
        self._event = 0
        body = []
        for menu in (self.cube, self.vector):
            if rng.random() < 0.6:
                first = [menu.first_write(t) for t in menu.tiles if "s" not in t.name and t.kind != "acc"]
                self.menu = menu
                body.append(Node(kind=menu.kind, body=[*self._tidy(first, False), barrier("ALL")]))
        for _ in range(rng.randint(1, 2)):
            body += self._handover(*rng.choice(((self.cube, self.vector), (self.vector, self.cube))))
        self.body = body
        self.menu = self.cube
        self.menu.head = {
            **self.cube.head,
            **self.vector.head,
            "sub_i": "pto.get_subblock_idx",
            "sub": "arith.index_cast %sub_i : i64 to index",
        }

    def _section(self, menu: Menu, most: int) -> list[Node]:
        self.menu = menu
        return [Node(kind=menu.kind, body=self._straight(self.rng.randint(1, most)))]

    def _handover(self, post: Menu, taker: Menu) -> list[Node]:
        """Work on one side, a signal, and work on the other side."""
        event = self._event
        self._event += 1
        (first,) = self._section(post, 2)
        (second,) = self._section(taker, 2)
        events = [event]
        if self.target == "a5":
            events = [event, event + 16]
        out_pipe, in_pipe = self._pipe(post, {"cube": "FIX", "vector": "MTE3"}), self._pipe(taker, {})
        signals = events if post is self.cube else events[:1]
        waits = events if taker is self.cube else events[:1]
        first.body += [signal(out_pipe, e, 2) for e in signals if not self._lost()]
        second.body[:0] = [awaiting(in_pipe, e) for e in waits if not self._lost()]
        return [first, second]

    def _pipe(self, menu: Menu, usual: dict[str, str]) -> str:
        return self.rng.choice(menu.pipes) if self._lost() else usual.get(menu.kind, "MTE2")


class SignalDraw(ClusterDraw):
    """The same, where flags are given again, by several pipes, and more or less often than they are waited for."""

    losses, thrown = (0.0,), 0.0

    def __init__(self, rng: random.Random) -> None:
        self._taking: dict[tuple[str, int], str] = {}
        super().__init__(rng)

    def _handover(self, post: Menu, taker: Menu) -> list[Node]:
        rng = self.rng
        if rng.random() < 0.5:
            self._event = 0
        event = self._event
        first, second = super()._handover(post, taker)
        pipe = self._taking.setdefault((taker.kind, event), rng.choice(taker.pipes))
        for node in second.body:  # waits of several pipes would take each other's counts
            if node.kind == "await":
                node.pipe, node.text = pipe, awaiting(pipe, *node.key).text
        for node in [node for node in first.body if node.kind == "signal"]:
            if rng.random() < 0.6:
                more = signal(rng.choice(post.pipes), node.key[0], 2)
                first.body.insert(rng.randint(0, len(first.body)), more)
        for node in [node for node in second.body if node.kind == "await"]:
            if rng.random() < 0.4:
                second.body.insert(rng.randint(0, len(second.body)), awaiting(pipe, *node.key))
        return [first, second]


class MeetingDraw(Draw):
    """Two blocks that meet between their work: by SYNCALL, and by flags that several pipes give."""

    several = 1.0

    def _program(self) -> list[Node]:
        rng, menu = self.rng, self.menu
        self.events = rng.sample(range(4), rng.randint(1, 2))
        nodes: list[Node] = []
        if rng.random() < 0.7:
            nodes = [
                *(menu.first_write(t) for t in menu.tiles if "s" not in t.name and t.kind != "acc"),
                barrier("ALL"),
            ]
        for _ in range(rng.randint(1, 3)):
            style = rng.random()
            if style < 0.4:
                ours, theirs = self._straight(rng.randint(1, 2)), self._straight(rng.randint(0, 1))
                nodes.append(Node("if", body=ours, other=theirs))
            elif style < 0.5:
                nodes.append(Node("for", turns=2, body=[*self._straight(1), *self._meeting()]))
            else:
                nodes += self._straight(1)
            nodes += self._meeting()
        return [*nodes, *self._straight(1)]

    def _meeting(self) -> list[Node]:
        rng = self.rng
        if rng.random() < 0.4:
            return [] if self._lost() else [Node("pto.syncall", "meet", "ALL", key=("all",))]
        event = rng.choice(self.events)
        _, after = self.meetings.setdefault(event, ("", rng.choice(self.menu.pipes)))
        posts = [rng.choice(self.menu.pipes) for _ in range(1 if rng.random() < 0.7 else 2)]
        out = [] if self._lost() else [signal(pipe, event) for pipe in posts]
        out += [] if self._lost() else [awaiting(after, event)]
        return [*self._fence(), *out] if rng.random() < 0.5 else out


# --- text and steps ----------------------------------------------------------------------------------------------


class Sample:
    """A program as text, ``mini``, and as the steps of each core, ``programs``."""

    def __init__(self, drawn: Draw) -> None:
        self.target, self.profile, self.blocks = drawn.target, drawn.profile, drawn.blocks
        self.menu, self.output, self.cluster = drawn.menu, drawn.output, drawn.cluster
        lines: list[str] = []
        self._loops = 0
        self._render(drawn.body, lines, "")
        self.mini = Mini(
            "\n".join(lines),
            tiles=drawn.menu.head,
            tensors=("x", "y"),
            kind="" if self.cluster else drawn.menu.kind,
            params="%h: !pto.ptr<f16>" if "h" in drawn.menu.tensors else "",
        )
        self.programs = [self._unroll(drawn.body, Where(core)) for core in range(3 if self.cluster else self.blocks)]
        given = ("x", "h") if self.output else ("x", "y", "h")
        self.given = sum(
            ((1 << TENSOR_BITS) - 1) << (i * TENSOR_BITS) for i, t in enumerate(drawn.menu.tensors) if t in given
        )

    def _render(self, nodes: list[Node], lines: list[str], variable: str) -> None:
        for node in nodes:
            if node.turns:
                self._loops += 1
                lines.append(f"for {node.turns}")
                self._render(node.body, lines, f"%i{self._loops}")
                lines.append("end")
            elif node.kind in ("cube", "vector"):
                lines.append(f"pto.section.{node.kind} {{")
                self._render(node.body, lines, variable)
                lines.append("}")
            elif node.other is not None:
                lines.append("first")
                self._render(node.body, lines, variable)
                lines.append("else")
                self._render(node.other, lines, variable)
                lines.append("end")
            else:
                lines += node.text.replace("%IV", variable).splitlines()
                node.line = len(lines)

    def _unroll(self, nodes: list[Node], at: Where) -> list[Step]:
        steps: list[Step] = []
        self._written: dict[str, int] = {}
        self._walk(nodes, at, steps)
        return steps

    def _walk(self, nodes: list[Node], at: Where, steps: list[Step]) -> None:
        for node in nodes:
            if node.turns:
                for turn in range(node.turns):
                    self._walk(node.body, Where(at.block, turn), steps)
            elif node.kind in ("cube", "vector"):
                if (node.kind == "cube") == (at.block == 0):
                    self._walk(node.body, at, steps)
            elif node.other is not None:
                self._walk(node.body if at.block == 0 else node.other, at, steps)
            elif node.kind == "meet":
                steps += [Step(kind, "ALL", node.line, key=node.key) for kind in ("arrive", "join")]
            else:
                steps.append(self._step(node, at, len(steps)))

    def _step(self, node: Node, at: Where, index: int) -> Step:
        reads = writes = 0
        for operand in node.reads:
            reads |= operand.places(at)
        for operand in node.writes:
            writes |= operand.places(at)
            if operand.group:
                self._written[operand.group] = index
        key = tuple(at.turn if part == "turn" else part for part in node.key)
        of: tuple[int, ...] = ()
        if node.kind == "sync":
            last = self._written.get(str(key[0]))
            of = () if last is None else (last,)
        return Step(node.kind, node.pipe, node.line, reads, writes, node.atomic, key, of)
