"""The NumPy executor's function of moves and products of matrices at pointers, written from their meaning."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ptokit.types.dtypes import DType

from ..machine import Machine, combining
from ..numerics.quant import narrowed
from ..site import Info, ScalarInfo, Site
from .execute import Run
from .expressions import Element, Expr
from .fold import F64, product, scaled, total_of
from .matrices import Factor, FixPipe, Matrix, Reader, reader, write
from .rows import Rows
from .source import Source
from .words import Contract, Move, Word

_MOST = 1024  # combinations of numbers that are remembered for a place
_F32_MAX = float(np.finfo(np.float32).max)
_LARGEST = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": _F32_MAX, "e4m3": 448.0, "e5m2": 57344.0}


class AtPointers(Rows):
    """The function of an instruction on pointers; numbers of operands and registers that only a run knows are given."""

    def infos(self, machine: Any, operands: tuple[Any, ...], attributes: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Info | None] = dict(attributes["types"])
        for name, operand in zip(self.names, operands):
            if isinstance(operand, int | float):
                found[name] = ScalarInfo(name, getattr(found.get(name), "type", ""), operand)
        return found

    def site(self, machine: Any, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Site:
        return replace(super().site(machine, operands, attributes), registers=machine.registers)

    def _by_sizes(self) -> Run:
        """The meaning follows from the numbers alone, or also from registers."""
        chosen: dict[tuple[int | str, ...], Run] = {}

        def run(machine: Any, *operands: Any, **attributes: Any) -> Any:
            key = tuple([o.hex() if isinstance(o, float) else o for o in operands if isinstance(o, int | float)])
            found = chosen.get(key)
            if found is None:
                site = self.site(machine, operands, attributes)
                word = self.instr.meaning_at(replace(site, registers=None))
                if word is not None:
                    if len(chosen) >= _MOST:
                        chosen.clear()
                    found = chosen[key] = self.written(word, self.types(site))
                else:
                    word = self.instr.meaning_at(site)
                    assert word is not None, self.instr.name
                    found = self.written(word, self.types(site))
            return found(machine, *operands, **attributes)

        return run

    def written(self, word: Word, types: dict[str, DType]) -> Run:
        if isinstance(word, Move):
            return _moved(word, self.names)
        if isinstance(word, Contract):
            return _contracted(word, self.names)
        return super().written(word, types)


def _moved(move: Move, names: tuple[str, ...]) -> Run:
    if move.rows <= 0 or move.cols <= 0:  # type: ignore[operator]
        return lambda *_, **__: None
    *sources, dst = move.matrices
    read = [reader(src) for src in sources]
    tables = _tables(move.drain)
    of = _values(move.value, names, tuple((matrix.name, matrix.dtype) for matrix in move.matrices))

    def run(m: Machine, *operands: Any, **_: Any) -> None:
        given = dict(zip(names, operands))
        if not sources:
            values = of(None, *operands)
            write(m, dst, given, np.broadcast_to(values, (max(1, values.size), dst.rows, dst.cols)))
            return
        (src,) = sources
        values = read[0](m, given)[:, :, : dst.cols]
        if move.drain is not None:
            _drained(m, values, src, dst, move.drain, tables, given)
            return
        values = of(values, *operands)
        rows, cols = dst.rows // dst.bands - src.rows // src.bands, dst.cols - values.shape[2]
        if not src.turned and (rows or cols):
            banded = values.reshape(len(values), dst.bands, -1, values.shape[2])
            values = np.pad(banded, ((0, 0), (0, 0), (0, rows), (0, cols))).reshape(len(values), dst.rows, dst.cols)
        write(m, dst, given, values)

    return run


@lru_cache
def _values(value: Expr, names: tuple[str, ...], types: tuple[tuple[str, DType], ...]) -> Callable[..., np.ndarray]:
    """The function that makes values of the elements ``x`` that have been read, and of number operands."""
    if isinstance(value, Element):
        return lambda x, *_: x
    source = Source(dict(types))
    source.leaves[Element(types[0][0])] = "x"
    head = f"def values(x, {''.join(f'{name}=None, ' for name in names)}):"
    exec("\n    ".join([head, *source.read(value), f"return {source.value(value)}"]), source.names)
    made: Callable[..., np.ndarray] = source.names["values"]
    return made


def _tables(d: FixPipe | None) -> tuple[Reader | None, ...]:
    """What reads the words and slopes of a fix-pipe, where those lie in memory."""
    return () if d is None else tuple(reader(at) if isinstance(at, Matrix) else None for at in (d.words, d.slopes))


def _drained(
    m: Machine,
    x: np.ndarray,
    src: Matrix,
    dst: Matrix,
    d: FixPipe,
    tables: tuple[Reader | None, ...],
    given: Mapping[str, Any],
) -> None:
    words: Any
    words, slopes = (at if read is None else read(m, given) for read, at in zip(tables, (d.words, d.slopes)))
    y = narrowed(
        x,
        src.dtype,
        dst.dtype,
        d.mode,
        words,
        relu=d.relu,
        slopes=slopes,
        saturation=d.saturation,
        keep_nan=d.keep_nan,
        target=m.target,
    )
    if y is None:
        m.refuse("TEXT-UNIMPLEMENTED", f"pre_quant with mode = {d.mode} cannot be run yet")
    if d.clip is not None:
        bound = d.clip if dst.dtype.is_float else int(d.clip)
        y = np.minimum(y, np.asarray(bound).astype(y.dtype))
    combine = d.combine
    if combine is None and getattr(given[dst.name], "space", "gm") == "gm":
        combine = combining(m)
    parts = [(d.sub, y)]
    if d.halves:
        banded = y.reshape(len(y), dst.bands, -1, y.shape[2])
        axis = 2 if d.halves == "split_m" else 3
        low, high = np.split(banded, [banded.shape[axis] // 2], axis=axis)
        parts = [(1, high), (0, low)]
    for sub, values in parts:
        write(
            m,
            dst,
            given,
            values.reshape(len(y), math.prod(values.shape[1:-1]), values.shape[-1]),
            combine=combine,
            sub=sub,
        )


def _contracted(c: Contract, names: tuple[str, ...]) -> Run:
    at = {matrix.name: matrix for matrix in c.matrices}
    read = {name: reader(matrix) for name, matrix in at.items()}

    def run(m: Machine, *operands: Any, **_: Any) -> None:
        given = dict(zip(names, operands))
        a, b = (Factor.of(at[name].dtype, read[name](m, given)) for name in (c.left, c.right))
        start = read[c.start](m, given) if c.start else None
        if start is not None:
            start = np.pad(start, ((0, 0), (0, 0), (0, b.vc - start.shape[2])))
        if c.finite and a.spec.dtype.is_float:
            a, b = (Factor(x.spec, _finite(x), x.vr, x.vc) for x in (a, b))
        with np.errstate(over="ignore", invalid="ignore"):
            if c.left_scale:
                scales = (Factor.of(at[s].dtype, read[s](m, given)) for s in (c.left_scale, c.right_scale))
                left_scale, right_scale = scales
                left, right = scaled(a, left_scale, b, right_scale)  # type: ignore[arg-type]
                total = total_of(m, left, right, start)
            else:
                total = product(m, a, b, start, c.rounding, at[c.dst].dtype.value)  # type: ignore[arg-type]
        if c.finite and total.dtype.kind == "f":
            total = np.clip(total, np.float32(-_F32_MAX), np.float32(_F32_MAX))
        write(m, at[c.dst], given, total.astype(at[c.dst].dtype.value, copy=False))

    return run


def _finite(x: Factor) -> np.ndarray:
    """Values with infinities as the largest number and NaN as 0; codes of types without a dtype as they are."""
    dtype = x.spec.dtype
    if dtype.value is None:
        return x.codes
    most = _LARGEST[dtype.name]
    return np.nan_to_num(x.read_as(F64), nan=0.0, posinf=most, neginf=-most).astype(dtype.value)
