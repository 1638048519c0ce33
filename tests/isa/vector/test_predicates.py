"""Predicates: patterns, counts, algebra, and their images in memory; the words of the published checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.isa.vector import predicates as values
from ptokit.isa.vector.predicates import PATTERNS
from tests.each import each

from .registers import call

WIDTHS = {8: 1, 16: 2, 32: 4}


def words(image: np.ndarray) -> list[int]:
    """The 256 bits as eight 32-bit words, the lowest first."""
    return [sum(int(bit) << i for i, bit in enumerate(image[0, 32 * k : 32 * k + 32])) for k in range(8)]


def random(seed: int, blocks: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).random((blocks, 256)) < 0.5


ACTIVE: dict[str, Any] = {
    "PAT_ALL": lambda n: range(n),
    "PAT_ALLF": lambda n: (),
    **{f"PAT_VL{k}": (lambda n, k=k: range(min(k, n))) for k in (1, 2, 3, 4, 8, 16, 32, 64, 128)},
    "PAT_H": lambda n: range(n // 2),
    "PAT_Q": lambda n: range(n // 4),
    "PAT_M3": lambda n: range(0, n, 3),
    "PAT_M4": lambda n: range(0, n, 4),
}


@each("bits", WIDTHS)
@each("name", ["pset", "pge"])
def test_patterns(name: str, bits: int) -> None:
    assert set(PATTERNS) == set(ACTIVE)
    for pattern, lanes in ACTIVE.items():
        got = call(f"{name}_b{bits}", pattern=pattern)
        assert np.flatnonzero(got[0]).tolist() == [WIDTHS[bits] * i for i in lanes(256 // WIDTHS[bits])], pattern


def test_published_pattern_words() -> None:
    assert words(call("pset_b8", pattern="PAT_M3"))[:3] == [0x49249249, 0x92492492, 0x24924924]
    assert words(call("pset_b16", pattern="PAT_H")) == [0x55555555] * 4 + [0] * 4
    assert words(call("pset_b32", pattern="PAT_Q")) == [0x11111111] * 2 + [0] * 6
    assert words(call("pset_b32", pattern="PAT_VL16")) == [0x11111111] * 2 + [0] * 6
    assert words(call("pset_b16", pattern="PAT_VL8")) == [0x5555] + [0] * 7


@each("bits", WIDTHS)
def test_counts(bits: int) -> None:
    full = 256 // WIDTHS[bits]
    for count in (0, 1, full - 1, full, full + 1, 1000, -1, -(1 << 31)):
        image, rest = call(f"plt_b{bits}", count)
        unsigned = count % (1 << 32)
        assert np.flatnonzero(image[0]).tolist() == [WIDTHS[bits] * i for i in range(min(full, unsigned))]
        assert rest % (1 << 32) == max(unsigned - full, 0)
        assert -(1 << 31) <= rest < 1 << 31
    counts = np.array([[3], [full + 2], [-1]])
    image, rest = call(f"plt_b{bits}", counts)
    assert image.sum(axis=1).tolist() == [3, full, full]
    assert rest.tolist() == [[0], [2], [-1 - full]]


def test_one_hundred_lanes_take_two_registers() -> None:
    image, rest = call("plt_b32", 100)
    assert (image.sum(), rest) == (64, 36)
    image, rest = call("plt_b32", rest)
    assert (image.sum(), rest) == (36, 0)


@each(
    "name, formula",
    [
        ("pand", lambda a, b, g: a and b and g),
        ("por", lambda a, b, g: (a or b) and g),
        ("pxor", lambda a, b, g: (a != b) and g),
    ],
)
def test_algebra(name: str, formula: Any) -> None:
    a, b, g = random(1, blocks=2), random(2), random(3)
    got = call(name, a, b, g)
    for block in range(2):
        assert got[block].tolist() == [formula(*bits) for bits in zip(a[block], b[0], g[0])]


def test_pnot_and_psel() -> None:
    a, b, s, g = (random(i) for i in range(4))
    assert call("pnot", a, g)[0].tolist() == [not x and y for x, y in zip(a[0], g[0])]
    chosen = [x if z else y for x, y, z in zip(a[0], b[0], s[0])]
    assert call("psel", a, b, s)[0].tolist() == chosen
    assert call("psel", a, b, s, g)[0].tolist() == [x and y for x, y in zip(chosen, g[0])]


def test_packing_drops_and_inserts_every_second_bit() -> None:
    a = random(5, blocks=2)
    for part, low in (("LOWER", 0), ("HIGHER", 128)):
        packed, unpacked = call("ppack", a, part=part), call("punpack", a, part=part)
        for block in range(2):
            bits = a[block].tolist()
            want = [False] * 256
            want[low : low + 128] = bits[::2]
            assert packed[block].tolist() == want
            assert unpacked[block].tolist() == [x for bit in bits[low : low + 128] for x in (bit, False)]


def test_published_packing_words() -> None:
    packed = call("ppack", call("pset_b32", pattern="PAT_M4"), part="LOWER")
    assert words(packed) == [0x01010101] * 4 + [0] * 4
    assert words(call("punpack", packed, part="LOWER")) == [0x00010001] * 8


@each("bits", WIDTHS)
def test_interleaving(bits: int) -> None:
    w = WIDTHS[bits]
    a, b = random(6, blocks=2), random(7)
    lo, hi = call(f"pintlv_b{bits}", a, b)
    dlo, dhi = call(f"pdintlv_b{bits}", a, b)
    n = 256 // w
    for block in range(2):
        x, y = a[block, ::w].tolist(), b[0, ::w].tolist()
        z = [v for pair in zip(x, y) for v in pair]
        assert lo[block, ::w].tolist() == z[:n]
        assert hi[block, ::w].tolist() == z[n:]
        assert dlo[block, ::w].tolist() == (x + y)[::2]
        assert dhi[block, ::w].tolist() == (x + y)[1::2]
    for image in (lo, hi, dlo, dhi):
        assert not image[:, [k for k in range(256) if k % w]].any()


def test_published_interleaving_words() -> None:
    a16, b16 = (call("pset_b16", pattern=p) for p in ("PAT_VL8", "PAT_M4"))
    lo, hi = call("pdintlv_b16", a16, b16)
    assert words(lo) == [85, 0, 0, 0] + [0x11111111] * 4
    assert words(hi) == [85] + [0] * 7
    assert words(call("pintlv_b16", a16, b16)[0]) == [0x11151115] + [0x00040004] * 7
    a8, b8 = (call("pset_b8", pattern=p) for p in ("PAT_VL8", "PAT_M4"))
    assert words(call("pintlv_b8", a8, b8)[0]) == [0x02025757] + [0x02020202] * 7


def test_pbitcast_keeps_the_image() -> None:
    a = random(8)
    assert np.array_equal(call("pbitcast", a), a)


# In memory ------------------------------------------------------------------------------------------------------------


def bits_of(data: np.ndarray) -> list[int]:
    return [int(byte) >> i & 1 for byte in data[0] for i in range(8)]


def test_images_in_memory() -> None:
    """Of streams; those of other accesses are in `test_predicate_memory`."""
    a = random(10)
    assert bits_of(values.compact(a, 4)) == a[0, ::4].tolist()
    assert bits_of(values.compact(a, 2)) == a[0, ::2].tolist()
