"""The comparison rules of the cases, how one case went, and the report as text and JUnit XML.

An element passes if it agrees with the expected bits where ``care`` has ones. With a tolerance it also passes if its
value is near enough; without one, bits decide alone.

Results are stored in full (``runs``, ``constant``) or as samples with sums over everything that was written
(``sample``). Positions that the kernel does not write keep their initial value.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from xml.etree import ElementTree

import numpy as np

from ptokit.records import dataclass
from ptokit.targets import TARGETS
from ptokit.types.codecs import decode, decode_table, unpack_nibbles
from ptokit.types.dtypes import DType

# The comparison rules of the conformance cases: buffers against what they must hold.


@dataclass(frozen=True)
class Steps:
    """``{"ulp": n}``: at most n steps apart in the order of the type's values; NaN equals NaN."""

    n: float

    def near(self, dtype: DType, got: np.ndarray, want: np.ndarray) -> np.ndarray:
        """Which codes of `got` are near those of `want`."""
        a, b = decode(dtype, got), decode(dtype, want)
        both, either = np.isnan(a) & np.isnan(b), np.isnan(a) | np.isnan(b)
        return both | (~either & (np.abs(_rank(a, dtype) - _rank(b, dtype)) <= self.n))


@dataclass(frozen=True)
class Distance:
    """``{"rtol": a, "atol": b}``: ``|got - want| <= b + a * |want|`` in float64; NaN equals NaN."""

    rtol: float
    atol: float

    def near(self, dtype: DType, got: np.ndarray, want: np.ndarray) -> np.ndarray:
        """Which codes of `got` are near those of `want`."""
        a, b = (decode(dtype, codes).astype(np.float64) for codes in (got, want))
        with np.errstate(invalid="ignore"):
            close = np.abs(a - b) <= self.atol + self.rtol * np.abs(b)
        # An infinite bound (want is infinite) would admit every number.
        return (close & np.isfinite(b)) | (np.isnan(a) & np.isnan(b))


@dataclass(frozen=True)
class Bounds:
    """One float32 per element: ``|got - want| <= bound`` where it is above 0, bits elsewhere."""

    bounds: np.ndarray

    def near(self, dtype: DType, got: np.ndarray, want: np.ndarray) -> np.ndarray:
        """Which codes of `got` are near those of `want`."""
        a, b = (decode(dtype, codes).astype(np.float64) for codes in (got, want))
        with np.errstate(invalid="ignore"):
            return (self.bounds > 0) & (np.abs(a - b) <= self.bounds.astype(np.float64))


Tolerance = Steps | Distance | Bounds


def tolerance(entry: Mapping[str, float]) -> Tolerance:
    """The tolerance that an object of a manifest says. Raises `ValueError`."""
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) and v >= 0 for v in entry.values()):
        if set(entry) == {"ulp"}:
            return Steps(entry["ulp"])
        if entry and set(entry) <= {"rtol", "atol"}:
            return Distance(entry.get("rtol", 0.0), entry.get("atol", 0.0))
    raise ValueError(f"a tolerance is {{ulp}} or {{rtol, atol}} with numbers from 0 on, not {dict(entry)}")


@dataclass(frozen=True)
class Want:
    """What a buffer must hold, in bytes. ``care``: bits that count, None for all."""

    out: np.ndarray
    care: np.ndarray | None = None
    tol: Tolerance | None = None

    def first_wrong(self, got: np.ndarray, dtype: DType) -> int | None:
        """Index of the first wrong element in storage order, or None. `got`: bytes of elements of `dtype`."""
        if np.array_equal(got, self.out):
            return None
        a, b = elements(dtype, got), elements(dtype, self.out)
        differ = a ^ b
        if self.care is not None:
            differ &= elements(dtype, self.care)
        wrong = differ != 0
        if self.tol is not None and wrong.any():
            wrong &= ~self.tol.near(dtype, a, b)
        at = np.flatnonzero(wrong)
        return int(at[0]) if len(at) else None


def elements(dtype: DType, raw: np.ndarray) -> np.ndarray:
    """Codes of the elements in a buffer, one each also for packed types."""
    return unpack_nibbles(raw) if dtype.packed else np.ascontiguousarray(raw).view(dtype.storage)


def show_element(dtype: DType, raw: np.ndarray, index: int) -> str:
    """An element of a buffer as bits and as a number: ``0x3f800000 (1)``."""
    code = elements(dtype, raw)[index : index + 1]
    digits = 1 if dtype.packed else 2 * dtype.size
    number = decode(dtype, code)[0]
    return f"{int(code[0]):#0{2 + digits}x} ({float(number):.9g})" if dtype.is_float else f"{int(number)}"


def _rank(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Position of numbers in the order of the type's values; both zeros have one position."""
    if dtype.is_integer:
        return values.astype(np.float64)
    if dtype.bits == 32:
        codes = values.view(np.uint32).astype(np.int64)
        return np.where(codes >= 1 << 31, (1 << 31) - codes, codes)
    return np.searchsorted(_in_order(dtype), values)


@cache
def _in_order(dtype: DType) -> np.ndarray:
    values = decode_table(dtype)
    return np.unique(values[~np.isnan(values)] + np.float32(0))


# What a program must leave in an argument, and whether it did.


STORED = ("runs", "constant", "sample")
SUM_ROUNDING = 1e-12  # of the sum of magnitudes: what summing floats in another order may change


class OutputError(Exception):
    """The stored values do not fit the case."""


@dataclass(frozen=True)
class Ran:
    """An argument after a run: the bits of its elements ``before`` and ``after``.

    ``again()`` says where a second run, from other initial contents, writes.
    """

    dtype: DType
    before: np.ndarray
    after: np.ndarray
    again: Callable[[], np.ndarray]

    @property
    def changed(self) -> np.ndarray:
        """Elements whose bits differ from before."""
        return self.before != self.after

    def check_kept(self, changed: np.ndarray, allowed: int = 0) -> str:
        """What is wrong with elements that should have kept their value; so many of them may have changed."""
        if np.count_nonzero(changed) <= allowed:
            return ""
        at = int(np.flatnonzero(changed)[0])
        kept, now = (_number(values(self.dtype, bits[at : at + 1])[0]) for bits in (self.before, self.after))
        return f"element {at}: must keep its initial value {kept}, got {now}"


@dataclass(frozen=True)
class Output:
    """An entry of ``outputs``. ``index``: position of the argument; ``touched``: (elements, first, last) or None.

    ``written`` elements are written, ``undefined`` of them with values that do not count.
    """

    index: int
    stored: str
    written: int
    undefined: int
    atol: float
    rtol: float
    sums: tuple[float, float] | None = None  # of the values, of their magnitudes
    crc32: int | None = None
    touched: tuple[int, int, int] | None = None

    def check(self, parts: Mapping[str, np.ndarray], ran: Ran) -> str:
        """The first difference from the stored `parts`, "" if there is none. Raises `OutputError`."""
        where, stored = self._listed(parts, len(ran.after))
        got = values(ran.dtype, ran.after)
        want = np.broadcast_to(values(ran.dtype, _bits(ran.dtype, stored)), where.shape)
        wrong = np.flatnonzero(~close(got[where], want, self.atol, self.rtol))
        if len(wrong):
            at = wrong[0]
            return f"element {where[at]}: expected {_number(want[at])}, got {_number(got[where[at]])}"
        if self.stored == "sample":
            return self._check_rest(got, ran)
        changed = ran.changed
        changed[where] = False
        return ran.check_kept(changed, self.undefined)

    def _listed(self, parts: Mapping[str, np.ndarray], size: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions that are compared, and their values (one, or as many)."""
        needed = ("index",) if self.stored == "sample" else ("starts", "lengths")
        for name in (*needed, "values"):
            if name not in parts or parts[name].ndim != 1:
                raise OutputError(f"there is no list of {name}")
        if self.stored == "sample":
            where = parts["index"].astype(np.int64)
        else:
            starts, lengths = (parts[name].astype(np.int64) for name in needed)
            if len(starts) != len(lengths) or (lengths < 0).any() or lengths.sum() > size:
                raise OutputError("the runs of positions are broken")
            first = np.repeat(starts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
            where = first + np.arange(lengths.sum())
        if len(where) and not (where.min() >= 0 and where.max() < size):
            raise OutputError(f"positions beyond the {size} elements of the argument")
        values = parts["values"]
        if len(values) != (1 if self.stored == "constant" else len(where)):
            raise OutputError(f"{len(values)} values for {len(where)} positions")
        return where, values

    def _check_rest(self, got: np.ndarray, ran: Ran) -> str:
        """All that was written, by count and sums; and nothing else."""
        count, first, last = self.touched or (self.written, 0, len(got) - 1)
        changed = ran.changed
        inside = np.zeros(len(got), bool)
        inside[first : last + 1] = True
        if problem := ran.check_kept(changed & ~inside, self.undefined):
            return problem
        if last - first + 1 == count:
            written = inside
        else:
            # Elements may be written with the value that they had.
            written = changed if np.count_nonzero(changed) == count else changed | ran.again()
            if not count <= np.count_nonzero(written) <= count + self.undefined:
                return f"{np.count_nonzero(written)} elements were written, expected {count}"
        return "" if self.undefined else self._check_sums(got[written])

    def _check_sums(self, got: np.ndarray) -> str:
        if self.sums is not None:
            numbers = got.astype(np.float64)
            with np.errstate(invalid="ignore"):
                found = float(numbers.sum()), float(np.abs(numbers).sum())
            exact = got.dtype.kind in "iu" and found[1] < 2**53
            slack = self.atol + (0 if exact else SUM_ROUNDING * found[1])
            for name, have, want in zip(("sum", "sum of magnitudes"), found, self.sums):
                if not close(np.array([have]), np.array([want]), slack, self.rtol)[0]:
                    return f"{name} of what was written: expected {want:.17g}, got {have:.17g}"
        if self.crc32 is not None and got.dtype.kind in "iu":
            crc = zlib.crc32(got.astype(got.dtype.newbyteorder("<")).tobytes())
            if crc != self.crc32:
                return f"CRC-32 of what was written: expected {self.crc32:#010x}, got {crc:#010x}"
        return ""


def close(got: np.ndarray, want: np.ndarray, atol: float, rtol: float) -> np.ndarray:
    """``|got - want| <= atol + rtol * |want|``; equal values, infinities too, and pairs of NaN match."""
    match = got == want
    if got.dtype.kind == "f":
        match |= np.isnan(got) & np.isnan(want)
    rest = np.flatnonzero(~match)
    if len(rest) == 0:
        return match
    a, b = got[rest], want[rest]
    if got.dtype.kind == "f":
        x, y = a.astype(np.float64), b.astype(np.float64)
        with np.errstate(invalid="ignore"):
            match[rest] = np.isfinite(x) & np.isfinite(y) & (np.abs(x - y) <= atol + rtol * np.abs(y))
    elif atol or rtol:  # exactly, also for 64 bits
        match[rest] = [abs(x - y) <= atol + rtol * abs(y) for x, y in zip(a.tolist(), b.tolist())]
    return match


def values(dtype: DType, bits: np.ndarray) -> np.ndarray:
    """Elements as numbers: f32 for bf16, else the type's own NumPy dtype."""
    assert dtype.value is not None
    numbers = bits.view(dtype.value)
    return numbers if numbers.dtype.kind in "iuf" else numbers.astype(np.float32)


def _bits(dtype: DType, stored: np.ndarray) -> np.ndarray:
    """Stored values as bits; types that NumPy lacks are stored as such."""
    if dtype.value is not None and dtype.value.kind in "iuf":
        return stored.astype(dtype.value).view(dtype.storage)
    return stored.astype(dtype.storage)


def _number(value: np.generic) -> str:
    number = value.item()
    return f"{number:.9g}" if isinstance(number, float) and math.isfinite(number) else str(number)


# How one case went on one target.


class Outcome(StrEnum):
    """The verdict on a case."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Result:
    """One case on one target.

    ``op`` is the instruction, or the kernel of a program. ``message`` says why a case failed or was skipped, and may
    add a remark to a pass. ``reported`` are the error rules that fired, sorted. ``seconds`` took the case to replay.
    """

    case: str
    op: str
    target: str
    outcome: Outcome
    message: str = ""
    reported: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """True if the case was replayed and nothing differed."""
        return self.outcome is Outcome.PASSED

    @property
    def reason(self) -> str:
        """Why it did not pass; empty if it did."""
        return "" if self.passed else self.message


# What to tell about the results of a run.


@dataclass(frozen=True)
class Report:
    """Counts by instruction and target; what failed; why cases were skipped, most frequent reason first."""

    rows: tuple[tuple[str, str, Counter[Outcome]], ...]
    failures: tuple[Result, ...]
    skipped: tuple[tuple[str, int], ...]
    total: Counter[Outcome]

    @property
    def last_line(self) -> str:
        """``N passed, N failed, N skipped``."""
        return ", ".join(f"{self.total[outcome]} {outcome}" for outcome in Outcome)


def report(results: Sequence[Result]) -> Report:
    """The report of results; failures in their order."""
    skipped = Counter(r.message for r in results if r.outcome is Outcome.SKIPPED)
    return Report(
        tuple((op, target, counts) for (op, target), counts in tally(results).items()),
        tuple(r for r in results if r.outcome is Outcome.FAILED),
        tuple(sorted(skipped.items(), key=lambda entry: (-entry[1], entry[0]))),
        Counter(r.outcome for r in results),
    )


def tally(results: Iterable[Result]) -> dict[tuple[str, str], Counter[Outcome]]:
    """(instruction, target) -> number of cases by outcome; instructions by name, targets in their usual order."""
    counts: dict[tuple[str, str], Counter[Outcome]] = {}
    for r in results:
        counts.setdefault((r.op, r.target), Counter())[r.outcome] += 1
    targets = list(TARGETS)
    return dict(sorted(counts.items(), key=lambda entry: (entry[0][0], targets.index(entry[0][1]))))


# Results as JUnit XML, which continuous integration systems read.


# Characters that XML 1.0 cannot hold.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(name: str, results: Sequence[Result]) -> bytes:
    """A test suite `name` with one test case per case and target; seconds as they were measured."""
    count = {outcome: sum(r.outcome is outcome for r in results) for outcome in Outcome}
    totals = {
        "tests": str(len(results)),
        "failures": str(count[Outcome.FAILED]),
        "errors": "0",
        "skipped": str(count[Outcome.SKIPPED]),
        "time": f"{sum(r.seconds for r in results):.3f}",
    }
    top = ElementTree.Element("testsuites", {"name": "ptokit conformance", **totals})
    suite = ElementTree.SubElement(top, "testsuite", {"name": _clean(name), **totals})
    for r in results:
        names = {"classname": f"{_clean(r.op)}.{r.target}", "name": f"{_clean(r.case)}[{r.target}]"}
        case = ElementTree.SubElement(suite, "testcase", {**names, "time": f"{r.seconds:.6f}"})
        if r.outcome is Outcome.FAILED:
            failure = ElementTree.SubElement(case, "failure", {"message": _clean(r.message), "type": "conformance"})
            failure.text = _clean(r.message)
        elif r.outcome is Outcome.SKIPPED:
            ElementTree.SubElement(case, "skipped", {"message": _clean(r.message)})
    ElementTree.indent(top)
    return ElementTree.tostring(top, encoding="utf-8", xml_declaration=True) + b"\n"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
