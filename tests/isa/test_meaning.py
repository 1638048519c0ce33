"""Meaning as data: types of nodes, what follows from the words, and that the table of primitives says what they do."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ptokit.isa.meaning.expressions import (
    BOOL,
    COLUMN,
    ROW,
    Bit,
    Const,
    Convert,
    Element,
    Scalar,
    exp,
    greater,
    leaves,
    maximum,
    select,
    type_of,
)
from ptokit.isa.meaning.fold import FOLDS, two_accumulators
from ptokit.isa.meaning.footprint import sentence
from ptokit.isa.meaning.moves import put
from ptokit.isa.meaning.primitives import PRIMITIVES, Order
from ptokit.isa.meaning.words import Lane, Python, Shown, Unrun, Write, lane
from ptokit.isa.table import TABLE
from ptokit.run.program import Single
from ptokit.targets import A5
from ptokit.types.dtypes import DTYPES
from tests.each import each

from .fake import fake, run, site, spec

A, B, S = Element("src0"), Element("src1"), Scalar("scalar", "src0")
TYPES = {"src0": DTYPES["f16"], "src1": DTYPES["f16"], "dst": DTYPES["f32"]}


def test_types_of_nodes() -> None:
    assert type_of(A + 1, TYPES) is DTYPES["f16"]
    assert type_of(Const(1, Convert(A, "dst")), TYPES) is DTYPES["f32"]
    assert type_of(greater(A, S), TYPES) == BOOL
    assert type_of(select(greater(A, 0), Convert(A, "dst"), 0), TYPES) is DTYPES["f32"]
    assert type_of(Bit("mask"), TYPES) == BOOL
    assert type_of(S, TYPES) is DTYPES["f16"]


def test_leaves_are_found_once_and_constants_read_nothing() -> None:
    assert list(leaves(select(greater(A, 0), A, A * B))) == [A, B]
    assert list(leaves(maximum(S, 0))) == [S]


@each(
    "word, text",
    [
        (lane((A + B) * 2), "dst = (src0 + src1) * 2"),
        (lane(A - Element("src1", COLUMN)), "dst[i,j] = src0[i,j] - src1[i,0]"),
        (lane(exp(A - Element("src1", ROW))), "dst[i,j] = exp(src0[i,j] - src1[0,j])"),
        (lane(select(Bit("mask"), A, S)), "dst = mask bit ? src0 : scalar"),
        (lane(maximum(A - B, 0)), "dst = max(src0 - src1, 0)"),
        (Lane((Write("lo", A), Write("hi", -B))), "lo = src0; hi = -src1"),
        (Python(print), ""),
    ],
)
def test_sentences(word: Lane, text: str) -> None:
    assert sentence(word) == text


def test_every_instruction_that_runs_has_a_meaning() -> None:
    """But for those whose result is made by the executor, or that are only read."""
    without = (type(None), Shown, Unrun)
    assert [i.name for i in TABLE.values() if (i.run is None) != isinstance(i.meaning, without)] == []


FUNCTIONS = {
    "the order of sorting": "TSORT32 TMRGSORT vbitsort vmrgsort4",
    "an algorithm of its own": "TRANDOM THISTOGRAM TIMG2COL TQUANT_MX",
    "lengths that rows say": "TCONCAT TCONCATIDX",
    "bytes of a tile, whatever its elements are": "TGATHERB TEXTRACT2",
    "layouts of global memory that the fix-pipe has": "TSTORE_FP",
    "a place, not a value": "TGET_SCALE_ADDR MAKE_GROUP declare_global reserve_buffer import_reserved_buffer",
    "a state that is checked": "vldas vldus init_align vstus vstur vstu vstas vsta vstar pstu",
    "any number of vectors": "vmi.channel_split vmi.channel_merge vmi.unpack vmi.pack",
    "what other launches or threads see": "keep resume atomic_cas simt_launch",
    "a session or an event": "build_async_session tput_async tget_async wait_async_event test_async_event "
    "make_prefetch_async_context prefetch_async get_prefetch_async_session",
    "a call of the rings": "aic_initialize_pipe aiv_initialize_pipe initialize_l2g2l_pipe initialize_l2l_pipe "
    "tpush_to_aic tpush_to_aiv TPUSH tpop_from_aic tpop_from_aiv TPOP talloc_to_aic talloc_to_aiv TALLOC "
    "set_quant_scalar set_quant_vector",
    "data only where memory allows": "TPREFETCH",
    "text": "TPRINT PRINT",
}
"""The instructions whose meaning is a function, by the reason."""


def test_functions_are_the_exception() -> None:
    """A family whose instructions are functions wants a word of `meaning.words`, or a node of the expressions."""
    meanings = {name: i.meaning for name, i in TABLE.items() if i.run is not None}
    functions = {name for name, meaning in meanings.items() if isinstance(meaning, Python)}
    assert functions == set(" ".join(FUNCTIONS.values()).split())
    said = (Path(__file__).parents[2] / "docs/decisions/0020-meaning-as-data.md").read_text(encoding="utf-8")
    data = len(meanings) - len(functions)
    assert f"{data} of the {len(meanings)} instructions" in said
    assert f"{len(functions)} are functions" in said


@each("name", PRIMITIVES)
def test_numpy_forms_take_an_array_to_write(name: str) -> None:
    """Values of every primitive, written in place of its first argument where that has the result's type."""
    p = PRIMITIVES[name]
    number = np.array([[[1, 2, 3, 4]]], np.float32 if p.for_floats else np.int32)
    args = [number.copy() for k in range(3) if f"{{{k}}}" in p.words]
    if name == "select":
        args[0] = number > 2
    result = p.numpy(*args)
    out = np.empty(number.shape, result.dtype)
    p.numpy(*args, out=out)
    assert (out == result).all()
    assert (result.dtype == bool) == p.gives_condition
    if not p.gives_condition:
        assert result.dtype == number.dtype
        p.numpy(*args, out=args[-1])
        assert (args[-1] == result).all()


# Order of folds -------------------------------------------------------------------------------------------------------


def rows_of_extremes(shape: tuple[int, ...]) -> np.ndarray:
    """Numbers whose sum shows every change of the order."""
    rng = np.random.default_rng(sum(shape))
    return (rng.choice([-1, 1], shape) * 10.0 ** rng.integers(-18, 18, shape)).astype(np.float32)


@each("cols", [1, 2, 3, 7, 8, 9, 15, 16, 29, 64, 100, 128, 1000])
def test_row_sums_use_two_accumulators(cols: int) -> None:
    x = rows_of_extremes((2, 5, 2 * cols))
    fold = FOLDS["add", Order.TWO_ACCUMULATORS]
    turned = np.ascontiguousarray(x.transpose(0, 2, 1)).transpose(0, 2, 1)
    for part in (x[:, :, :cols], x[:, :3, cols:], turned[:, :, :cols]):
        assert (fold(part, 2)[:, :, 0] == two_accumulators(part)).all()


def test_long_rows_and_many_rows() -> None:
    fold = FOLDS["add", Order.TWO_ACCUMULATORS]
    for shape in ((1, 2, 9001), (1, 3000, 11)):
        x = rows_of_extremes(shape)
        assert (fold(x, 2)[:, :, 0] == two_accumulators(x)).all()


@each("on, sums", [("cpu", (2, 1)), ("a2a3", (0, 1)), ("a5", (0, 1))])
def test_rows_and_columns_are_summed_in_the_stated_order(on: str, sums: tuple[int, int]) -> None:
    """Two accumulators lose nothing of 1e30 + 1 - 1e30 + 1; from the first on, one of the ones is lost.

    Neighbours lose both, and the last one is alone where rows are added two by two.
    """
    x = np.array([[1e30, 1, -1e30, 1, *[0] * 20]], np.float32)
    column, row = fake("f32", np.zeros((1, 1))), fake("f32", np.zeros((1, 1)))
    run("TROWSUM", on, column, fake("f32", x))
    run("TCOLSUM", on, row, fake("f32", x.T))
    assert (column.array.item(), row.array.item()) == sums


def test_two_accumulators_by_hand() -> None:
    x = rows_of_extremes((1, 1, 11))
    v = [float(e) for e in x[0, 0]]
    even, odd = (v[0] + v[2]) + (v[4] + v[6]) + 0.0, (v[1] + v[3]) + (v[5] + v[7]) + 0.0
    assert two_accumulators(x)[0, 0] == (even + v[8] + v[10]) + (odd + v[9])


@each("op", ["add", "mul"])
@each("cols", [1, 2, 16])
def test_columns_are_folded_from_the_first_row_on(op: str, cols: int) -> None:
    x = rows_of_extremes((2, 40, 2 * cols))
    x = x if op == "add" else np.sign(x) * np.abs(x) ** np.float32(0.05)
    turned = np.ascontiguousarray(x.transpose(0, 2, 1)).transpose(0, 2, 1)
    for part in (x[:, :, :cols], turned[:, :, :cols]):
        wanted = np.full((2, cols), 0.0 if op == "add" else 1.0)
        for k in range(40):
            wanted = PRIMITIVES[op].numpy(wanted, part[:, k].astype(np.float64))
        assert (FOLDS[op, Order.FORWARD](part, 1)[:, 0] == wanted).all()


def test_sums_of_negative_zeros_are_zero() -> None:
    x = np.full((1, 3, 3), -0.0, np.float32)
    for order, axis in ((Order.TWO_ACCUMULATORS, 2), (Order.FORWARD, 1)):
        for part in (x, x[:, :, :1]):
            assert not np.signbit(FOLDS["add", order](part, axis)).any()


def test_pair_sums_clear_the_whole_tile_on_cpu() -> None:
    """Seen in the footprint too."""
    tile = spec("f32", 16, 64, 5, 37)
    for on, written in (("cpu", (16, 64)), ("a5", (5, 37))):
        o = site("TPairReduceSum", on, dst=tile, src=tile)
        accesses = list(o.instr.footprint(o))
        assert [(a.rows, a.cols) for a in accesses if a.write] == [written]
        assert [(a.rows, a.cols) for a in accesses if not a.write] == [(5, 37)]


@each("kind", ["f32", "f16", "bf16"])
@each("axis", [1, 2])
def test_extremes_order_the_zeros(kind: str, axis: int) -> None:
    for zeros, largest, least in (((0.0, -0.0), 0.0, -0.0), ((-0.0, -0.0), -0.0, -0.0), ((0.0, 0.0), 0.0, 0.0)):
        for values in (zeros, zeros[::-1]):
            x = np.array(values, np.float32).astype(DTYPES[kind].value)  # type: ignore[arg-type]
            x = x.reshape((1, 2, 1) if axis == 1 else (1, 1, 2))
            for op, wanted in (("max", largest), ("min", least)):
                assert np.signbit(FOLDS[op, Order.ANY](x, axis).astype(np.float32)).all() == np.signbit(wanted)


def test_a_boxed_tile_keeps_what_was_put_into_it() -> None:
    """Its value may stand for bytes that are made later: it must not be a view of those of another tile."""
    machine = Single(A5)
    plain, boxed = spec("f16", 16, 32), spec("f16", 16, 32, boxed=True)
    source = machine.tile(plain, np.arange(512, dtype=np.float16).view(np.uint8))
    target = machine.tile(boxed)
    put(target, source.read())
    source.raw()[...] = 0
    assert (target.read()[0].reshape(-1) == np.arange(512)).all()
