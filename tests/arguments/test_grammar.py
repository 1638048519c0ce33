"""The --arg grammar."""

from __future__ import annotations

import io
import math
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ptokit.arguments.grammar import (
    ArgumentSyntaxError,
    as_parameter,
    load_array,
    parse_argument,
    parse_number,
    portable,
)
from ptokit.diagnostics import DiagnosticError
from ptokit.types.codecs import decode, unpack_nibbles
from ptokit.types.dtypes import DTYPES, dtype
from tests.each import each


def value(text: str, position: int = 0) -> object:
    return parse_argument(text, position).make()


def array(text: str, position: int = 0) -> np.ndarray:
    made = value(text, position)
    assert isinstance(made, np.ndarray)
    return made


@each(
    "text, expected",
    [
        ("17", 17),
        ("-3", -3),
        ("+3", 3),
        ("0x1F", 31),
        ("-0X10", -16),
        ("007", 7),
        ("2.5", 2.5),
        (".5", 0.5),
        ("1e-5", 1e-5),
        ("-1E3", -1000.0),
        ("true", True),
        ("false", False),
        ("-inf", -math.inf),
        ("18446744073709551615", 2**64 - 1),
    ],
)
def test_numbers(text: str, expected: object) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


def test_nan() -> None:
    found = parse_number("nan")
    assert isinstance(found, float)
    assert math.isnan(found)


@each("text", ["", "-", "1_000", "0x", "1e", "--1", "one", "1 ", "٣", "0b1", "1" * 41, "infinity"])
def test_what_is_not_a_number(text: str) -> None:
    assert parse_number(text) is None


@each(
    "text",
    [
        "",
        "bogus",
        "x.npz",
        "zeros",
        "zeros:",
        "zeros:f32",
        "zeros:f99:4",
        "zeros:f32:4:4",
        "zeros:f32:",
        "zeros:f32:x4",
        "zeros:f32:4x",
        "zeros:f32:-4",
        "zeros:f32:4,4",
        "zeros:f32:999999999999999x999999999999999",
        "full:1:f32",
        "full:one:f32:4",
        "full:300:u8:4",
        "full:-1:u8:4",
        "full:0.5:i32:4",
        "full:nan:i32:4",
        "full:inf:i32:4",
        "random:f32:4:seed",
        "random:f32:4:seed=-1",
        "random:f32:4:seed=x",
        "random:f32:4:4:seed=1",
        "empty:f32:4",
    ],
)
def test_syntax_errors(text: str) -> None:
    with pytest.raises(ArgumentSyntaxError):
        parse_argument(text, 0)


@each("name", [n for n, t in DTYPES.items() if t.value is not None])
def test_constant_arrays_have_type_shape_and_value(name: str) -> None:
    element = DTYPES[name]
    if name != "e8m0":  # has no zero
        zeros = array(f"zeros:{name}:3x5")
        assert (zeros.dtype, zeros.shape) == (element.value, (3, 5))
        assert not zeros.view(np.uint8).any()
    ones = array(f"ones:{element.text}:7")
    assert (ones.dtype, ones.shape) == (element.value, (7,))
    assert (ones.astype(np.float32) == 1).all()


@each("name", ["hif8", "e2m1", "e1m2", "int4"])
def test_types_without_a_numpy_dtype_are_codes(name: str) -> None:
    element = dtype(name)
    half = array(f"full:1:{name}:3x5")
    assert half.dtype == np.uint8
    assert half.shape == ((8,) if element.packed else (3, 5))
    codes = unpack_nibbles(half, 15) if element.packed else half
    assert (decode(element, codes) == 1).all()


def test_full_keeps_extreme_integers_and_rounds_floats() -> None:
    assert array("full:18446744073709551615:u64:2").tolist() == [2**64 - 1] * 2
    assert array("full:-128:i8:1").tolist() == [-128]
    assert array("full:0.1:f16:1")[0] == np.float16(0.1)
    assert np.signbit(array("full:-0.5:f32:1"))[0]


def test_arange_counts_and_wraps() -> None:
    assert array("arange:i32:2x3").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert array("arange:u8:258").tolist() == [*range(256), 0, 1]


@each("name, low, high", [("f32", -1, 1), ("f16", -1, 1), ("bf16", -1, 1), ("i32", -8, 7), ("u8", 0, 15)])
def test_random_covers_its_range(name: str, low: float, high: float) -> None:
    values = array(f"random:{name}:4000:seed=1").astype(np.float64)
    assert values.min() >= low
    assert values.max() <= high
    assert values.max() - values.min() > 0.95 * (high - low)


def test_random_scales_are_powers_of_two_near_one() -> None:
    values = array("random:e8m0:4000").astype(np.float32)
    assert set(values.tolist()) == {2.0**n for n in range(-3, 4)}


def test_short_vectors_hold_a_number_in_each_lane() -> None:
    two, ones = (array(f"{name}:vector<2xf16>:8") for name in ("random", "ones"))
    assert two.view(np.float16).reshape(8, 2)[:, 0].tolist() == two.view(np.float16).reshape(8, 2)[:, 1].tolist()
    assert ones.view(np.float16).tolist() == [1.0] * 16
    assert len(set(two.tolist())) > 4


def test_random_is_repeatable_and_seeded_by_position() -> None:
    assert np.array_equal(array("random:f32:64:seed=3"), array("random:f32:64:seed=3", 5))
    assert np.array_equal(array("random:f32:64", 3), array("random:f32:64:seed=3"))
    assert not np.array_equal(array("random:f32:64", 0), array("random:f32:64", 1))


def test_each_make_is_a_new_array() -> None:
    argument = parse_argument("zeros:f32:4", 0)
    argument.make()[0] = 1
    assert argument.make()[0] == 0


def test_files_are_copied_native_and_row_major(tmp_path: Path) -> None:
    original = np.asfortranarray(np.arange(12, dtype=">i4").reshape(3, 4))
    file = tmp_path / "x.npy"
    np.save(file, original)
    before = file.read_bytes()
    loaded = array(str(file))
    assert loaded.dtype == np.dtype("i4")
    assert portable(loaded) is loaded
    assert loaded.flags.c_contiguous
    assert loaded.flags.writeable
    assert loaded.tolist() == original.tolist()
    loaded[:] = 0
    assert file.read_bytes() == before


@pytest.mark.parametrize("shape", [(), (0,), (3, 0)])
def test_empty_and_scalar_arrays_load(tmp_path: Path, shape: tuple[int, ...]) -> None:
    file = tmp_path / "x.npy"
    np.save(file, np.zeros(shape, np.float32))
    assert load_array(str(file)).shape == shape


def npy(build: object, **more: object) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, build, **more)  # type: ignore[arg-type]
    return buffer.getvalue()


GOOD = npy(np.zeros((64, 64), np.float32))
BAD_FILES = {
    "empty": b"",
    "text": b"hello, world\n" * 50,
    "garbage": bytes(range(256)) * 8,
    "magic only": GOOD[:6],
    "cut in the header": GOOD[:40],
    "cut in the data": GOOD[:-1],
    "no data": GOOD[:128],
    "lying shape": GOOD.replace(b"(64, 64)", b"(640000000000, 64)").replace(b" " * 10, b"", 1),
    "negative shape": GOOD.replace(b"(64, 64)", b"(-4, 64)"),
    "pickle": npy(np.array([{"a": 1}, None], dtype=object), allow_pickle=True),
    "strings": npy(np.array(["a", "bc"])),
    "records": npy(np.zeros(3, dtype=[("a", "f4"), ("b", "i4")])),
    "complex": npy(np.zeros(3, np.complex64)),
    "dates": npy(np.zeros(3, "M8[s]")),
    "deep header": b"\x93NUMPY\x01\x00" + (6000).to_bytes(2, "little") + b"(" * 6000,
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_bad_files_are_diagnosed(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "x.npy"
    file.write_bytes(BAD_FILES[kind])
    with pytest.raises(DiagnosticError) as caught:
        load_array(str(file))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.rule == "CLI-01"
    assert diagnostic.location.file == str(file)


def test_archives_directories_and_missing_files_are_diagnosed(tmp_path: Path) -> None:
    np.savez(tmp_path / "z.npz", a=np.zeros(3))
    (tmp_path / "z.npz").rename(tmp_path / "z.npy")
    (tmp_path / "dir.npy").mkdir()
    for name in ("z.npy", "dir.npy", "missing.npy", "nul\0.npy"):
        with pytest.raises(DiagnosticError) as caught:
            load_array(str(tmp_path / name))
        assert [d.rule for d in caught.value.diagnostics] == ["CLI-01"]


def test_raw_integers_and_anonymous_records_stand_for_types_numpy_lacks(tmp_path: Path) -> None:
    values = np.array([1.5, -2.0, 0.25], ml_dtypes.bfloat16)
    file = tmp_path / "x.npy"
    np.save(file, values)  # as |V2
    for given in (values, values.view(np.uint16), load_array(str(file))):
        taken = as_parameter(given, dtype("bf16"))
        assert taken.dtype == ml_dtypes.bfloat16
        assert taken.tolist() == values.tolist()
    assert as_parameter(np.zeros(4, "V1"), dtype("hif8")).dtype == np.uint8


def test_other_arrays_are_left_for_the_launch_to_judge() -> None:
    for given, wanted in [
        (np.zeros(4, np.int32), "f32"),
        (np.zeros(4, np.uint8), "bf16"),
        (np.zeros(4, np.int16), "bf16"),
        (np.zeros(4, np.uint16), "f16"),
    ]:
        assert as_parameter(given, dtype(wanted)) is given
    assert as_parameter(17, dtype("f32")) == 17
