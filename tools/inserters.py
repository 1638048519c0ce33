"""Judge the synchronisation passes of the reference assembler: what their lit tests expect, against `ptokit sync`.

    python tools/inserters.py CHECKOUT [--only TEXT] [--log FILE] [--seconds N]

Of each test of ``test/lit/pto`` whose RUN lines name a pass, and of each function whose CHECK lines name flags, these
are counted by pair of pipes, and those that `ptokit sync` writes into the test's input. CHECK lines may leave flags
out: a pair that is not set as often as it is waited for is named in part. Where the instructions and braces around
each flag are named, and its id, they determine the pairs that they name; with the other pairs of `ptokit sync` that
is a program, and is proved.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpus import ARCHS, STATED, commands
from proofs import _over, read_log, stop_after

from ptokit.api.check import read
from ptokit.api.prove import prove
from ptokit.api.synchronise import synchronise
from ptokit.diagnostics import DiagnosticError, UsageError
from ptokit.diagnostics.finding import Edit, edited
from ptokit.ir.core import Block, Function, Op
from ptokit.ir.facts import instr_of
from ptokit.lang.functions import pipe_of
from ptokit.prove.report import OF_PIPES
from ptokit.sanitize.findings.source_text import Structure, first_line, last_line
from ptokit.targets import Target
from ptokit.targets import target as target_named
from ptokit.types.enums import EVENT_ID_COUNT, Pipe

PASSES = {"insert-sync": "InsertSync", "graph-sync-solver": "GraphSyncSolver"}

CHECK = re.compile(r"^\s*//\s*([A-Z0-9_-]+?)(?:-(NEXT|SAME|DAG|LABEL|NOT|COUNT-(\d+)))?:(.*)$")
FLAG = re.compile(
    r"(set|wait)_flag(?:_dyn)?(?:\(|\[|\s)\s*<?PIPE_(\w+)>?\s*(?:,|->)\s*<?PIPE_(\w+)>?\s*(?:,\s*<?(?:EVENT_ID)?([^>)\]]*\]*))?"
)
CALL = re.compile(r"\b(?:pto\.)?(t\w+|mgather|mscatter)\b(?!_)|\b(T[A-Z0-9_]+|MGATHER|MSCATTER)(?:<[^(]*>)?\(")
OPENS = re.compile(r"\b(?:scf\.)?(for|if|while)\b")
CLOSES = re.compile(r"^\s*\}")
VARIABLE = re.compile(r"\[\[#?(\w+)")


@dataclass(frozen=True)
class Token:
    """An instruction, or a brace, and its lines."""

    kind: str
    names: frozenset[str]
    first: int
    last: int
    pipe: Pipe | None = None


@dataclass
class Expected:
    """What the CHECK lines of a pass say of a function: ``("set", "MTE2", "V", "0")`` and others, in order."""

    words: list[tuple[str, ...]] = field(default_factory=list)
    debug: bool = False  # what the pass prints while it works: there a flag follows its operation

    @property
    def flags(self) -> list[tuple[str, ...]]:
        return [word for word in self.words if word[0] in ("set", "wait")]


def expected(text: str, prefixes: Sequence[str], names: Sequence[str]) -> dict[str, Expected]:
    """By function."""
    found: dict[str, Expected] = {}
    name = names[0] if len(names) == 1 else ""
    for line in text.splitlines():
        match = CHECK.match(line)
        if match is None or match[1] not in prefixes or match[2] in ("NOT", "SAME"):
            continue
        said = match[4]
        named = next((n for n in names if re.search(rf"(?<![\w.]){re.escape(n)}(?!\w)", said)), None)
        if named is not None and (match[2] == "LABEL" or re.search(r"\bfunc|\bvoid\b|\bAICORE\b", said)):
            name = named
            continue
        if re.match(r"\s*(?:PRE|POST|COMPOUND)\b", said.strip(" 0123456789[]")):
            found.setdefault(name, Expected()).debug = True
        for _ in range(int(match[3] or 1)):
            word = _word(said)
            if word is not None:
                found.setdefault(name, Expected()).words.append(word)
    return found


def _word(said: str) -> tuple[str, ...] | None:
    flag = FLAG.search(said)
    if flag is not None:
        number = "dynamic" if "_dyn" in said else flag[4] or ""
        variable = VARIABLE.search(number)
        return flag[1], flag[2], flag[3], f"={variable[1]}" if variable else number.strip()
    if "barrier" in said:
        return ("barrier", "ALL" if "ALL" in said else "one")
    call = CALL.search(said)
    if call is not None:
        return ("op", (call[1] or call[2]).upper())
    opens = OPENS.search(said)
    if opens is not None:
        return ("open", opens[1])
    return ("close",) if CLOSES.match(said) else None


def tokens(function: Function, structure: Structure, target: Target) -> list[Token]:
    """The instructions and braces of a function, in the order of its text."""
    made: list[Token] = []

    def block(region: Block) -> None:
        for op in region.ops:
            instr = instr_of(op)
            lines = first_line(op), last_line(op, structure.following(op))
            if instr is not None and not op.regions:
                made.append(Token("op", frozenset((instr.name.upper(), _text(op))), *lines, pipe_of(op, target)))
            braces = op.name.startswith("scf.") and op.regions
            for inner in op.regions:
                if not inner.ops:
                    continue
                if braces:
                    made.append(Token("open", frozenset((op.name.removeprefix("scf."),)), lines[0], lines[0]))
                block(inner)
                if braces:
                    made.append(Token("close", frozenset(), lines[1], lines[1]))

    if function.body is not None:
        block(function.body)
    return [token for token in made if not token.names & WITHOUT_PIPE]


WITHOUT_PIPE = frozenset(("ALLOC_TILE", "TASSIGN", "TRESHAPE", "TSUBVIEW", "SUBVIEW"))
"""Names of tiles, which CHECK lines may name and no pipe executes."""


def _text(op: Op) -> str:
    return op.name.rpartition(".")[2].upper()


def edits(wanted: Expected, known: Sequence[Token], file: str) -> list[Edit] | None:
    """The lines that a test says are in the program; None if they may be in several places, or have several ids.

    Instructions that no line names may be on either side of a flag, unless they are on another pipe than the one that
    sets it or waits.
    """
    ids = numbered(wanted.flags)
    if ids is None or any(len(set(counts)) > 1 for counts in by_pair(wanted.flags).values()):
        return None
    loops = any(word[0] == "open" for word in wanted.words)
    made: list[Edit] = []
    at = -1
    waiting: list[tuple[tuple[str, ...], int]] = []

    def flush(until: int) -> bool:
        for (verb, src, dst, _), number in waiting:
            own = Pipe[src if verb == "set" else dst]
            if any(token.kind != "op" or token.pipe in (own, None, Pipe.ALL) for token in known[at + 1 : until]):
                return False
            if verb == "set" and not loops and all(token.pipe is not own for token in known[: at + 1]):
                return False  # another instruction of that name is meant
            before = known[at].last + 1 if at >= 0 else known[0].first if known else 0
            made.append(Edit(file, before, f"pto.{verb}_flag[<PIPE_{src}>, <PIPE_{dst}>, <EVENT_ID{number}>]"))
        waiting.clear()
        return True

    each = iter(ids)
    for word in wanted.words:
        if word[0] in ("set", "wait"):
            waiting.append((word, next(each)))
        elif word[0] != "barrier":
            later = range(at + 1, len(known))
            found = next((k for k in later if known[k].kind == word[0] and known[k].names >= set(word[1:])), None)
            if found is None or not flush(found):
                return None
            at = found
    return made if known and flush(len(known)) else None


def numbered(flags: Sequence[tuple[str, ...]]) -> list[int] | None:
    """Their ids: those that have names get free ones; where none is said, set and wait have to alternate."""
    ids: dict[tuple[str, ...], int] = {flag[1:]: int(flag[3]) for flag in flags if flag[3].isdecimal()}
    for _, src, dst, number in flags:
        like = [
            verb for verb, *pipes, said in flags if pipes == [src, dst] and not (said.isdecimal() or said[:1] == "=")
        ]
        if number == "dynamic" or "set" in like[1::2] or "wait" in like[::2]:
            return None
        if (src, dst, number) not in ids:
            used = {n for (p, q, _), n in ids.items() if (p, q) == (src, dst)}
            free = [n for n in range(EVENT_ID_COUNT) if n not in used]
            if not free:
                return None
            ids[src, dst, number] = free[0]
    return [ids[flag[1:]] for flag in flags]


@dataclass(frozen=True)
class Test:
    """A function of a test, and a pass."""

    key: str
    text: str
    target: str
    inserter: str
    name: str
    wanted: Expected


def tests(checkout: str) -> Iterator[Test]:
    """Functions for which the CHECK lines of a pass name flags."""
    for path in sorted((Path(checkout) / "test" / "lit" / "pto").rglob("*.pto")):
        text = path.read_text(encoding="utf-8")
        names = [*dict.fromkeys(re.findall(r"func\.func (?:private |public )?@(\w+)", text))]
        seen = set()
        for words, refused in commands(text):
            inserter = next((says for word, says in PASSES.items() if any(word in w for w in words)), None)
            if refused or inserter is None:
                continue
            arch = next((w for w, before in zip(words[1:], words) if before == "--pto-arch"), "")
            arch = next((w.partition("=")[2] for w in words if w.startswith("--pto-arch=")), arch)
            prefixes = next((w.partition("=")[2] for w in words if w.startswith("--check-prefix")), "CHECK").split(",")
            for name, wanted in expected(text, prefixes, names).items():
                key = f"{path.relative_to(checkout)} {inserter} {name} {','.join(prefixes)}"
                if name and wanted.flags and key not in seen:
                    seen.add(key)
                    target = "" if STATED.search(text) else ARCHS.get(arch, "a2a3")
                    yield Test(key, text, target, inserter, name, wanted)


def judged(test: Test) -> dict[str, Any]:
    """What a log says of a test."""
    line: dict[str, Any] = {"key": test.key, "inserter": test.inserter, "theirs": by_pair(test.wanted.flags)}
    start = time.process_time()
    try:
        options: dict[str, Any] = {"target": test.target or None, "entry": test.name}
        made = synchronise(test.text, **options)
        line |= {"verdict": "proved" if made.proved else "not proved", "because": [why for why, _ in made.open[:3]]}
        found = [(edit, m) for edit in made.edits if (m := FLAG.search(edit.text or "")) is not None]
        line["ours"] = by_pair([(m[1], m[2], m[3]) for _, m in found])
        line["stops"] = len(made.barriers)
        module = read(test.text, name="test.pto", target=test.target or None).module
        used = target_named(made.target)
        function = next(f for f in module.functions if f.name == test.name)
        inserted = edits(test.wanted, tokens(function, Structure(module.functions), used), "test.pto")
        if inserted is not None and not test.wanted.debug:
            inserted += [edit for edit, m in found if f"{m[2]} to {m[3]}" not in line["theirs"]]
            theirs = edited(test.text, sorted(inserted, key=lambda edit: edit.line))
            again = synchronise(theirs, **options)
            line["theirs proved"] = "proved" if again.proved and not again.edits else "open"
            proof = prove(theirs, **options) if made.proved and again.edits else None
            refuted = [] if proof is None else [c for c in proof.claims if c.counterexample and c.claim in OF_PIPES]
            if refuted:
                line["theirs proved"] = "refuted"
                line["why"] = [c.counterexample.message for c in refuted if c.counterexample is not None]
    except (DiagnosticError, UsageError) as error:
        rule = error.diagnostics[0].rule if isinstance(error, DiagnosticError) else "usage"
        line["verdict"] = f"refused: {rule}: {str(error).splitlines()[0][:120]}"
    except KeyboardInterrupt:
        line.setdefault("verdict", "stopped")
    line["seconds"] = round(time.process_time() - start, 2)
    return line


def by_pair(flags: Iterable[tuple[str, ...]]) -> dict[str, list[int]]:
    """How often each pair of pipes is set and waited for."""
    counts = Counter((f"{src} to {dst}", verb) for verb, src, dst, *_ in flags)
    return {pair: [counts[pair, "set"], counts[pair, "wait"]] for pair in dict.fromkeys(pair for pair, _ in counts)}


def compared(line: dict[str, Any]) -> Counter[str]:
    """Of the pairs that CHECK lines name: how many flags `ptokit sync` writes, against theirs."""
    found = Counter[str]()
    for pair, theirs in line["theirs"].items():
        ours = line.get("ours", {}).get(pair, [0, 0])
        if line["verdict"] != "proved":
            found["not proved"] += 1
        elif theirs[0] != theirs[1]:
            found["named in part"] += 1
        else:
            found["equal" if ours == theirs else "none" if not any(ours) else "fewer" if ours < theirs else "more"] += 1
    return found


def table(lines: Sequence[dict[str, Any]]) -> None:
    """Tests by pass."""
    for inserter in PASSES.values():
        mine = [line for line in lines if line["inserter"] == inserter]
        pairs = sum((compared(line) for line in mine), Counter[str]())
        alike = sum(set(compared(line)) == {"equal"} for line in mine)
        print(
            f"{inserter}: {len(mine)} functions, {alike} with all named pairs equal; pairs: {dict(pairs.most_common())}"
        )
        determined = Counter(line["theirs proved"] for line in mine if "theirs proved" in line)
        print(f"  programs that the lines determine: {dict(determined)}")
    for line in lines:
        if line["verdict"] != "proved":
            print(f"  {line['key']}: {line['verdict']} {'; '.join(line.get('because', ()))[:120]}")
        if line.get("theirs proved") == "refuted":
            print(f"  {line['theirs proved']}: {line['key']}: {'; '.join(line['why'])}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("checkout")
    options.add_argument("--only", default="", help="only tests whose name has this")
    options.add_argument("--log", help="a file of JSON lines, which is continued")
    options.add_argument("--seconds", type=int, default=60, help="after which a test is stopped")
    given = options.parse_args()
    signal.signal(signal.SIGALRM, _over)
    known = read_log(given.log) if given.log else {}
    seen = []
    for test in tests(given.checkout):
        if given.only not in test.key:
            continue
        if test.key not in known:
            stop_after(given.seconds)
            line = known[test.key] = judged(test)
            stop_after(0)
            if given.log:
                with Path(given.log).open("a", encoding="utf-8") as out:
                    out.write(json.dumps(line) + "\n")
        seen.append(known[test.key])
        print(f"{test.key}: {dict(compared(known[test.key]))} {known[test.key].get('theirs proved', '')}", flush=True)
    table(seen)


if __name__ == "__main__":
    main()
