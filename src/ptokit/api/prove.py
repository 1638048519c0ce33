"""`prove`: what holds of a kernel for all its arguments, or the arguments for which a run shows that it does not."""

from __future__ import annotations

import sys
import time
from _thread import interrupt_main
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from html import escape
from io import StringIO
from threading import Timer
from typing import Any

from ptokit import __version__
from ptokit.arguments.derive import derive
from ptokit.arguments.grammar import make, of_ranks, read_arguments
from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Location, Severity, UsageError
from ptokit.ir.core import Function, Module
from ptokit.ir.functions import assumptions, check_assumptions, named
from ptokit.ir.launch import found_for, with_reached
from ptokit.ir.verify import verify
from ptokit.machine.loops import at_most
from ptokit.prove.report import (
    NOT_COVERED,
    OF_PIPES,
    SENTENCES,
    Claim,
    Counterexample,
    Decided,
    Proof,
    Verdict,
    claim_of,
    counted,
    reasons,
    what_decides,
)
from ptokit.run import Param, choose_entry
from ptokit.run import Program as Compiled
from ptokit.run.program import filled_in
from ptokit.sanitize import Report, sanitize_launch
from ptokit.sanitize.outcome import SyncMode
from ptokit.sanitize.page.document import STYLE, source
from ptokit.targets import Target
from ptokit.types.choices import LaunchOptions, SanitizeOptions
from ptokit.types.values import MemRef, PartitionView, Ptr, Scalar, TensorView

from .check import origin
from .launch import as_parameters, read_for, read_without_arguments
from .parts import find_target
from .program import Program

Progress = Callable[[str], None]
"""Called with what is done next."""

LARGEST = 1 << 26
"""Elements of the arrays of a run that is to show something."""

MOST_RUNS, MOST_RANKS_SHOWN = 8, 8
"""Suspicions that runs are tried for, and devices of one."""

MOST_ITERATIONS, MOST_SHOWN = 1 << 16, 1 << 12
"""Iterations of loops, of all blocks together, after which a run is given up; one that is to show something."""

DOUBLINGS = 4
"""How often arrays are made larger that a launch turns out to leave."""

_ARRAY_ENDS = ("PTR-A5-02", "GM-OOB")

ENOUGH = 10_000
"""Questions of the solver that a proof may ask where no limit is given: real kernels ask some hundreds."""

MOST_QUESTIONS = 2000
"""Questions of the solver up to which assumptions are looked for that suffice."""

APART = "arrays do not overlap"

NAMED = ("scalar arguments are from 0 to 2**31 - 1", APART)
"""What every proof by the solver assumes."""


def _named(shared: Sequence[tuple[str, str]], ranks: bool) -> tuple[str, ...]:
    pairs = " and ".join(f"{one} and {other}" for one, other in shared)
    more = f" but for {pairs}" if shared else ", nor do those of two ranks" if ranks else ""
    return tuple(text + more if text == APART else text for text in NAMED)


def prove(
    program: Program,
    args: Sequence[Any] = (),
    *,
    target: str | Target | None = None,
    entry: str | None = None,
    assume: Iterable[str] = (),
    blocks: int | None = None,
    mode: str | None = None,
    extended: bool = False,
    default_target: str | Target | None = None,
    limit: int | None = None,
    progress: Progress = lambda what: None,
) -> Proof:
    """Prove for all arguments that flags balance, that pipes and blocks do not race, and that accesses stay in bounds.

    ``program``, ``target``, ``entry``, ``extended``, ``default_target``: as for `ptokit.sanitize`. ``args``: of a
    kernel in Python, where its annotations do not say which types it has; only those count. ``assume``: Python
    comparisons over the parameters and ``blocks``, "n % 16 == 0", which are read and not evaluated. ``blocks``: of how
    many blocks; None for any number of them, if the kernel asks for its block. ``mode``: who places tiles and orders
    pipes, as for `ptokit.sanitize`. ``limit``: how many questions the solver may be asked. ``progress`` is called with
    what is done next. What cannot be decided is open, with its reason; so is everything where the solver is missing
    (``pip install 'ptokit[prove]'``) and constants alone do not decide the kernel. What is refuted has arguments for
    which `ptokit.sanitize` agrees. Raises `DiagnosticError` for a program with errors, `UsageError` for assumptions
    that say nothing, or hold for no arguments.
    """
    wanted, usual = find_target(target), find_target(default_target)
    found = origin(program, entry=entry)
    if args:
        source, _ = read_for(found, wanted, usual, read_arguments(args), entry)
    else:
        source = read_without_arguments(found, wanted, usual)
    chosen = source.target_or(wanted, usual)
    source.diagnostics.raise_if_errors()
    named = None if source.own_target else entry
    options: dict[str, Any] = {"assume": assume, "blocks": blocks, "mode": mode, "extended": extended, "limit": limit}
    return prove_module(source.module, chosen, named, progress=progress, **options)


def prove_module(
    module: Module,
    target: Target,
    entry: str | None = None,
    *,
    assume: Iterable[str] = (),
    blocks: int | None = None,
    mode: str | None = None,
    extended: bool = False,
    limit: int | None = None,
    progress: Progress = lambda what: None,
) -> Proof:
    """`prove`, of a module that has been read."""
    start = time.perf_counter()
    with _heard():
        proof = Proving(module, target, entry, tuple(assume), blocks, mode, extended, progress, limit).proof()
    proof.seconds = time.perf_counter() - start
    return proof


def refuted(proof: Proof, file: str | None) -> Iterator[Diagnostic]:
    """What runs have shown against claims of a proof, as findings of a file."""
    for decided in proof.claims:
        shown = decided.counterexample
        if shown is not None:
            hint = f"shown by {shown.command}"
            yield Diagnostic(shown.rule, Severity.ERROR, shown.message, Location(file, shown.line, 1), hint)


@contextmanager
def _heard() -> Iterator[None]:
    """Hear Ctrl-C where it is lost: Python drops what is raised while z3 gives an object back."""
    before = sys.unraisablehook

    def again(dropped: Any) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            timer = Timer(0.01, interrupt_main)
            timer.daemon = True
            timer.start()
        else:
            before(dropped)

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = before


def page(proof: Proof) -> str:
    """One HTML file: the claims, what is shown against them or why they are open, and the lines that this is about."""
    title = f"{proof.name} on {proof.target}"
    kind = {Verdict.PROVED: "clean", Verdict.REFUTED: "error"}.get(proof.verdict, "warning")
    facts = {
        "target": proof.target,
        "assumed": "; ".join(proof.assumptions) or "nothing",
        "needs": "; ".join(proof.needs) or "nothing",
        "suffices": " and ".join(proof.sufficient),
        "not covered": ", ".join(NOT_COVERED),
    }
    shown = "".join(f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in facts.items() if text)
    return "".join(
        (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}: {proof.verdict}</title><style>{STYLE}</style></head><body><main>",
            f"<header><p class='kicker'>ptokit prove</p><h1>{escape(proof.name)}</h1>",
            f"<p class='verdict {kind}'>{proof.verdict} {escape(proof.scope)}</p>",
            f"<dl class='launch'>{shown}</dl></header>",
            *(_section(proof, decided) for decided in proof.claims),
            f"<footer>ptokit {__version__}</footer></main></body></html>\n",
        )
    )


def _section(proof: Proof, decided: Decided) -> str:
    """A claim of a page."""
    kind = {Verdict.REFUTED: "error", Verdict.OPEN: "warning"}.get(decided.verdict, "clean")
    told = [f"line {n}: {text}" if n else text for text, n in zip(decided.because, decided.lines)]
    lines, out = decided.lines, ""
    if decided.counterexample is not None:
        case = decided.counterexample
        lines = (case.line,)
        out = f"<p>{escape(case.message)} [{case.rule}]</p><p class='hint'>{escape(case.command)}</p>"
    elif told:
        out = f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in told)}</ul>"
    marks = {Location(proof.file, line, 1): "●" for line in dict.fromkeys(lines) if line}
    head = f"<h2>{decided.claim}: <span class='{kind}'>{decided.verdict}</span></h2>"
    return f"<section>{head}<p class='why'>{SENTENCES[decided.claim]}</p>{out}{source(marks, ())}</section>"


class Proving:
    """A kernel that is to be proved."""

    def __init__(
        self,
        module: Module,
        target: Target,
        entry: str | None = None,
        assume: tuple[str, ...] = (),
        blocks: int | None = None,
        mode: str | None = None,
        extended: bool = False,
        progress: Progress = lambda what: None,
        limit: int | None = None,
    ) -> None:
        self.limit = ENOUGH if limit is None else limit
        self.module, self.target, self.progress = module, target, progress
        found = choose_entry(module, entry)
        try:
            self.assume = tuple(dict.fromkeys((*assumptions(found), *assume)))
        except ValueError:  # which the check says, too
            self.assume = assume
        try:
            check_assumptions(found, assume)
        except ValueError as error:
            raise UsageError(str(error), "assume") from None
        self.name = found.name
        self.options = LaunchOptions(entry=entry, extended=extended)
        self.kernel, _ = filled_in(found, [None] * len(found.params))
        errors = found_for(module, found, verify(module, target, extended=extended))
        self.errors = [d for d in errors if d.severity is Severity.ERROR]
        if any(claim_of(d.rule) is None for d in self.errors):
            raise DiagnosticError(self.errors)
        self.program = Compiled(module, found, target, extended=extended)
        self.mode = mode
        self.by_compiler = SyncMode(with_reached(module, found), mode).by_compiler or not target.is_device
        asks = any(s.word in _OF_BLOCKS for f in self.program.plan.functions.values() for s in f.walk())
        self.blocks = blocks if blocks is not None or asks else 1
        self.shared: list[tuple[str, str]] = []  # arrays that are one, the first of them before the other

    # --- the whole -----------------------------------------------------------------------------------------------

    def proof(self) -> Proof:
        scope = "for all arguments"
        if self.assume:
            scope += " with the assumptions"
        scope += " and any number of blocks" if self.blocks is None else f" and {counted(self.blocks, 'block')}"
        file = self.kernel.location.file or self.module.file or ""
        proof = Proof(self.name, self.target.name, scope, file, assumptions=self.assume)
        decides = what_decides(self.program, self.blocks)
        if self.errors:
            proof.claims = self._refused()
        elif not decides and not self.assume:
            proof.closed = True
            self._closed(proof)
        else:
            self._solved(proof, decides)
        return proof

    def _refused(self) -> list[Decided]:
        """The static check has found what a claim is about: it holds for no arguments."""
        found: dict[Claim, Diagnostic] = {}
        for d in self.errors:
            claim = claim_of(d.rule)
            if claim is not None:
                found.setdefault(claim, d)
        whatever = derive(self.module, choose_entry(self.module, self.options.entry), self.blocks or 1)
        return [
            self._refuted(claim, found[claim], whatever, self.blocks or 1)
            if claim in found
            else Decided(claim, Verdict.OPEN, **reasons([("the check refuses the program", 0)]))
            for claim in Claim
        ]

    def _closed(self, proof: Proof) -> None:
        """One launch does what all do."""
        self.progress("one launch, which does what all do")
        blocks = self.blocks or 1
        texts = derive(self.module, choose_entry(self.module, self.options.entry), blocks)
        report = self.launch(texts, blocks)
        larger = texts
        for _ in range(DOUBLINGS):
            if not any(d.rule.startswith(_ARRAY_ENDS) for d in report.errors):
                break
            larger = [self.doubled(p, text) for p, text in zip(self._params(), larger)]
            again = self.launch(larger, blocks)
            if not any(d.rule.startswith(_ARRAY_ENDS) for d in again.errors):
                texts, report = larger, again
        for claim in Claim:
            proof.claims.append(self._by_run(claim, report, texts, blocks))
        proof.assumptions = (APART,)
        arrays = [(p, text) for p, text in zip(self.program.params, texts) if p.dtype is not None]
        proof.needs = tuple(f"{p.name} of {text.split(':')[2]} elements" for p, text in arrays)

    @staticmethod
    def doubled(param: Any, text: str) -> str:
        """An argument, as after ``--arg``, with twice the elements where a pointer says nothing of how many."""
        word, kind, size, *rest = text.split(":") if isinstance(param.type, Ptr) else ("", "", "")
        if not size.isdigit() or int(size) > LARGEST:
            return text
        return ":".join((word, kind, str(2 * int(size)), *rest))

    def _by_run(self, claim: Claim, report: Report, texts: list[str], blocks: int) -> Decided:
        against = [d for d in report.errors if claim_of(d.rule) is claim]
        if against:
            return self._refuted(claim, against[0], texts, blocks)
        if self.by_compiler and claim in OF_PIPES:
            return Decided(claim, Verdict.COMPILER)
        others = [d for d in report.errors if claim_of(d.rule) is None]
        if others or not report.ran:
            why = [(f"the run found {d.rule}: {d.message}", d.location.line) for d in others[:3]]
            return Decided(claim, Verdict.OPEN, **reasons(why or [("the kernel could not be run", 0)]))
        if not report.coverage.complete and not self.by_compiler:
            return Decided(claim, Verdict.OPEN, **reasons([(f"the run says: {report.verdict}", 0)]))
        return Decided(claim, Verdict.PROVED)

    def _refuted(self, claim: Claim, found: Diagnostic, texts: Sequence[str], blocks: int, ranks: int = 0) -> Decided:
        shared = tuple(self.shared)
        shown = Counterexample(found.rule, found.message, found.location.line, tuple(texts), blocks, shared, ranks)
        return Decided(claim, Verdict.REFUTED, (), (), shown)

    def _solved(self, proof: Proof, decides: str) -> None:
        """The solver decides."""
        try:
            import z3
        except ImportError:
            missing = f"{decides or 'assumptions'} decide: this needs the solver, pip install 'ptokit[prove]'"
            proof.claims = [Decided(claim, Verdict.OPEN, **reasons([(missing, 0)])) for claim in Claim]
            return
        from ptokit.prove.control import Control
        from ptokit.prove.numbers import STOPS
        from ptokit.prove.ranges import in_types, may_wrap, sufficient

        proof.solver = f"z3 {z3.get_version_string()}"
        self.progress("all launches at once")
        try:
            prover = Control(self.program, by_compiler=self.by_compiler, blocks=self.blocks, assume=self.assume)
        except ValueError as error:
            raise UsageError(str(error), "assume") from None
        self.shared = [(prover.array(name), name) for name in prover.shared]
        prover.solver.most = self.limit
        prover.prove()
        prover.solver.most = None
        wrapping = None
        try:
            if not prover.undecided and may_wrap(prover.found.wide):
                wrapping = self._with()
        except STOPS:
            proof.stopped = True
        if wrapping is not None and not any(wrapping.reasons(claim) for claim in Claim):
            prover, wrapping = wrapping, None
        named = _named(self.shared, bool(prover.windows))
        proof.needs, proof.assumptions = prover.needs(), (*self.assume, *prover.asserted.values(), *named)
        proof.assumptions += in_types(prover.found.wide)
        proof.stopped |= any(each.undecided and not each.exhausted for each in (prover, wrapping or prover))
        confirmed: dict[Claim, Decided] = {}
        if not proof.stopped:
            try:
                self._confirmed(prover, prover, confirmed)
                if wrapping is not None:
                    self._confirmed(wrapping, prover, confirmed)
            except STOPS:
                proof.stopped = True
        for claim in Claim:
            if claim in confirmed:
                proof.claims.append(confirmed[claim])
            elif self.by_compiler and claim in OF_PIPES:
                proof.claims.append(Decided(claim, Verdict.COMPILER))
            else:
                why = prover.reasons(claim)
                proof.claims.append(Decided(claim, Verdict.OPEN if why else Verdict.PROVED, **reasons(why)))
        enough = proof.proved and wrapping is None
        if not (enough or proof.stopped or prover.exhausted) and prover.solver.asked <= MOST_QUESTIONS:
            try:
                proof.sufficient = sufficient(prover if wrapping is None else wrapping, self._with)
            except STOPS:
                proof.stopped = True

    def _with(self, *texts: str) -> Any:
        """What the solver finds under more assumptions."""
        from ptokit.prove.control import Control

        self.progress(f"whether it holds for {' and '.join(texts)}" if texts else "numbers that wrap")
        assume = (*self.assume, *texts)
        again = Control(self.program, by_compiler=self.by_compiler, blocks=self.blocks, assume=assume)
        again.wraps, again.solver.most = not texts, self.limit if texts else min(self.limit, MOST_QUESTIONS)
        again.prove()
        again.solver.most = None
        return again

    # --- runs that show something ---------------------------------------------------------------------------------

    def _confirmed(self, prover: Any, needing: Any, found: dict[Claim, Decided]) -> None:
        """Find the claims that a run speaks against, each by the run for its own suspicion if that shows it.

        ``needing``: by which arrays are as large as they have to be.
        """
        beside: dict[Claim, Decided] = {}
        try:
            self._shown(prover, needing, found, beside)
        finally:
            found |= {claim: decided for claim, decided in beside.items() if claim not in found}

    def _shown(self, prover: Any, needing: Any, found: dict[Claim, Decided], beside: dict[Claim, Decided]) -> None:
        tried: dict[Any, None] = {}
        from ptokit.prove.ranges import sized

        for suspect in prover.suspects():
            if suspect.claim in found or len(tried) >= MOST_RUNS:
                continue
            for values, blocks in prover.arguments(suspect):
                texts, ranks = self._texts(needing, values, blocks), values["ranks"] if prover.windows else 0
                if texts is None or (tuple(texts), blocks) in tried or ranks > MOST_RANKS_SHOWN:
                    continue
                tried[tuple(texts), blocks] = None
                self.progress(f"a run that may show {suspect.rule}")
                report = self.launch(texts, blocks, MOST_SHOWN, ranks)
                if not sized(needing.found.gaps) and any(d.rule.startswith(_ARRAY_ENDS) for d in report.errors):
                    for _ in range(DOUBLINGS):
                        texts = [self.doubled(p, text) for p, text in zip(self._params(), texts)]
                    report = self.launch(texts, blocks, MOST_SHOWN, ranks)
                for d in report.errors:
                    claim = claim_of(d.rule)
                    if claim is not None:
                        into = found if claim is suspect.claim else beside
                        into.setdefault(claim, self._refuted(claim, d, texts, blocks, ranks))

    def _texts(self, prover: Any, values: dict[str, Any], blocks: int) -> list[str] | None:
        """Arguments, as after ``--arg``: numbers as they are given, arrays as large as they have to be."""
        from ptokit.prove.ranges import elements_needed, zeros_keep

        texts: list[str] = []
        if not zeros_keep(prover, values, blocks):
            return None
        for k, param in enumerate(self.kernel.params):
            name, kind = param.name or f"argument {k}", param.type
            array = prover.array(name)
            if prover.windows and (name in ("rank", "ranks") or name in prover.windows):
                texts.append(name if isinstance(kind, Scalar) else "peer:{}:{:+d}".format(*prover.windows[name]))
            elif isinstance(kind, Scalar):
                value = values.get(name, 1)
                texts.append(str(value).lower() if isinstance(value, bool) else str(value))
            elif isinstance(kind, Ptr | MemRef | TensorView | PartitionView):
                several = [array, *(window for window, (home, _) in prover.windows.items() if home == array)]
                sizes = [elements_needed(prover, each, kind.dtype.size, values, blocks) for each in several]
                elements = LARGEST + 1 if None in sizes else max(size for size in sizes if size is not None)
                if elements > LARGEST:
                    return None
                dims = kind.dims if isinstance(kind, TensorView | PartitionView) else (max(1, elements),)
                shape = "x".join(map(str, dims))
                shape = f"{values['ranks']}x{shape}" if prover.windows else shape
                texts.append(f"zeros:{kind.dtype.name}:{shape}")
            else:
                return None
        return texts

    def launch(self, texts: Sequence[str], blocks: int, most: int = MOST_ITERATIONS, ranks: int = 0) -> Report:
        """What the sanitizer says of a launch; where that takes too many iterations, what it has found by then."""
        arguments = of_ranks(make(read_arguments(texts)), ranks or None)
        where = named(self.kernel)
        for one, other in self.shared:
            given, kind = arguments[where.index(one)], arguments[where.index(other)].dtype
            if given.dtype != kind:
                whole = given.reshape(-1).view("u1")
                given = whole[: len(whole) // kind.itemsize * kind.itemsize].view(kind)
            arguments[where.index(other)] = given
        values = as_parameters(arguments, [Param(p.name, p.type) for p in self._params()])
        options = replace(self.options, blocks=blocks, ranks=ranks or None)
        how = SanitizeOptions(mode=self.mode)
        with redirect_stdout(StringIO()), at_most(most):
            report = sanitize_launch(self.module, self.target, values, options, how, causes=False)
        found = list(report.diagnostics)
        if any(d.rule == "RUN-LIMIT" for d in found):  # others may wait for what it would have done yet
            report.diagnostics = Diagnostics([d for d in found if claim_of(d.rule) is not Claim.FLAGS])
        return report

    def _params(self) -> list[Any]:
        entry: Function = choose_entry(self.module, self.options.entry)
        return list(entry.params)


_OF_BLOCKS = frozenset(("block_idx", "total"))
