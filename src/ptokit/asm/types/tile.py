"""The written forms of ``!pto.tile_buf`` and of ``!pto.tile``, the tile of level 1 (assembly 3.3, 3.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ptokit.diagnostics.finding import suggest
from ptokit.types.enums import BLayout, CompactMode, PadValue, SLayout, TileType
from ptokit.types.tile import CUSTOM_PAD, DYNAMIC, TileSpec, declared, scales

from ..text import rules
from ..text.cursor import whole
from ..text.rules import TypeFaultError, element

LONG_KEYS = ("loc", "dtype", "rows", "cols", "v_row", "v_col", "blayout", "slayout", "fractal", "pad")
OPTIONS = ("valid", "blayout", "slayout", "fractal", "pad", "compact")

_LOCS = {t.text: t for t in TileType if t is not TileType.Ctrl}
_BLAYOUTS = {t.text: t for t in BLayout}
_SLAYOUTS = {t.text: t for t in SLayout}
_FRACTALS = (16, 32, 512, 1024)
_SIZES = {str(size): size for size in _FRACTALS}
_MANUAL_FRACTALS = frozenset(("None", "NZ", "ZN", "FR", "RN"))

_SHAPE = re.compile(r"((?:(?:\?|-?\d+)\s*x\s*)*)([!A-Za-z][\w.]*)\Z")
_FIRST = re.compile(r'(?:loc\s*=\s*)?"?[A-Za-z_]\w*"?\Z')
_NUMBER = re.compile(r"-?\d+\Z", re.ASCII)
_VALID = re.compile(r"(\?|-?\d+)\s*x\s*(\?|-?\d+)\Z")


class _Field(NamedTuple):
    """One comma-separated part: its text without blanks around, its place in the type."""

    text: str
    offset: int

    def fault(self, rule: str, message: str, hint: str | None = None) -> TypeFaultError:
        return TypeFaultError(rule, message, self.offset, max(1, len(self.text)), hint)

    def split(self) -> tuple[str, _Field]:
        """``key = value`` as key and value; the key is empty if there is no ``=``."""
        key, equals, value = self.text.partition("=")
        if not equals:
            return "", self
        offset = self.offset + len(key) + 1 + len(value) - len(value.lstrip())
        return key.rstrip(), _Field(value.strip().strip('"'), offset)


def _fields(body: str, at: int) -> list[_Field]:
    out, start = [], 0
    for part in body.split(","):
        text = part.strip()
        out.append(_Field(text, at + start + len(part) - len(part.lstrip())))
        start += len(part) + 1
    return out


def tile_buf(body: str, at: int) -> TileSpec:
    """The tile type whose angle brackets hold `body`; `at` is the place of the body. Raises `TypeFaultError`."""
    fields = _fields(body, at)
    key, _ = fields[0].split()
    second = fields[1] if len(fields) > 1 else None
    manual = (
        second is not None
        and _FIRST.match(fields[0].text)
        and second.split()[0] == ""
        and not second.text[:1].isdigit()
        and second.text[:1] not in "?-"
    )
    spec = _manual(fields) if manual else _long(fields) if key == "loc" else _short(fields)
    spec, area = declared(spec), scales(spec)
    return replace(spec, loc=area) if spec.loc is TileType.Scaling and area is not None else spec


def tile(body: str, at: int) -> TileSpec:
    """As `tile_buf`; the shorter ``16x32xf32`` and ``f32, 16, 16`` are tiles of the vector buffer."""
    fields = _fields(body, at)
    first = fields[0].text
    if len(fields) == 1 and first[:1].isdigit():
        return _short([_Field("vec", at), *fields])
    if 3 <= len(fields) <= 7 and fields[1].text.isdecimal():
        return _manual([_Field("vec", at), *fields])
    return tile_buf(body, at)


def _long(fields: list[_Field]) -> TileSpec:
    got: dict[str, _Field] = {}
    for position, field in enumerate(fields):
        key, value = field.split()
        wanted = LONG_KEYS[position] if position < len(LONG_KEYS) else "compact"
        if key != wanted or position > len(LONG_KEYS):
            if key in got:
                message = f"'{key}' is written twice"
            elif key in LONG_KEYS or key == "compact":
                message = (
                    f"expected '{wanted}' here, found '{key}': keys have a fixed order and only compact is optional"
                )
            else:
                message = f"unknown key '{key or field.text}', expected '{wanted}'"
            raise field.fault(rules.TY_4, message, f"the order is {', '.join(LONG_KEYS)}")
        got[key] = value
    if len(fields) < len(LONG_KEYS):
        raise fields[-1].fault(
            rules.TY_4, f"'{LONG_KEYS[len(fields)]}' is missing", f"the order is {', '.join(LONG_KEYS)}"
        )
    return TileSpec(
        loc=_name(got["loc"], _LOCS, "loc"),
        dtype=element(got["dtype"].text, got["dtype"].offset),
        rows=_size(got["rows"], "rows"),
        cols=_size(got["cols"], "cols"),
        valid_row=_valid(got["v_row"], "v_row"),
        valid_col=_valid(got["v_col"], "v_col"),
        **_layout(got),
    )


def _short(fields: list[_Field]) -> TileSpec:
    loc = _name(fields[0].split()[1] if fields[0].split()[0] == "loc" else fields[0], _LOCS, "loc")
    if len(fields) < 2:
        raise fields[0].fault(rules.TY_5, "the dimensions are missing: !pto.tile_buf<loc, ROWSxCOLSxELEMENT>")
    shape = fields[1]
    m = _SHAPE.match(shape.text)
    if m is None:
        raise shape.fault(rules.TY_5, f"'{shape.text}' is not ROWSxCOLSxELEMENT with two static dimensions")
    dims = [d.strip() for d in m[1].split("x")[:-1]]
    if len(dims) != 2 or "?" in dims:
        what = "a dimension is not static" if "?" in dims else f"{len(dims)} dimensions"
        raise shape.fault(rules.TY_5, f"a tile buffer has exactly two static dimensions: {what}")
    rows, cols = (_size(_Field(d, shape.offset), n) for d, n in zip(dims, ("rows", "cols")))
    dtype = element(m[2], shape.offset + m.start(2))
    got: dict[str, _Field] = {}
    for field in fields[2:]:
        key, value = field.split()
        if key not in OPTIONS:
            raise field.fault(rules.TY_5, f"unknown option '{key or field.text}'", suggest(key or field.text, OPTIONS))
        if key in got:
            raise field.fault(rules.TY_5, f"'{key}' is written twice")
        got[key] = value
    valid_row, valid_col = rows, cols
    if "valid" in got:
        v = _VALID.match(got["valid"].text)
        if v is None:
            raise got["valid"].fault(rules.TY_5, "valid takes exactly two sizes, for example valid=8x?")
        valid_row = _valid(_Field(v[1], got["valid"].offset), "valid")
        valid_col = _valid(_Field(v[2], got["valid"].offset + v.start(2)), "valid")
    return TileSpec(loc, dtype, rows, cols, valid_row, valid_col, **_layout(got))


def _manual(fields: list[_Field]) -> TileSpec:
    """Positions: loc, element, rows, cols, block layout, stripe layout, fractal, pad; the last four may be missing."""
    if not 4 <= len(fields) <= 8:
        raise fields[-1].fault(
            rules.TY_5,
            "expected loc, element, rows, cols and up to four layout words",
            "or write loc, ROWSxCOLSxELEMENT",
        )
    key, loc = fields[0].split()
    spec: dict[str, Any] = {}
    if len(fields) > 4:
        spec["blayout"] = _name(fields[4], {t.name: t for t in BLayout}, "block layout")
    if len(fields) > 5:
        spec["slayout"] = _name(fields[5], {t.name: t for t in SLayout}, "stripe layout")
    if len(fields) > 6 and fields[6].text in _SIZES:
        spec["fractal"] = _SIZES[fields[6].text]
    elif len(fields) > 6 and fields[6].text not in _MANUAL_FRACTALS:
        hint = f"one of None, NZ, ZN, FR, RN, {', '.join(_SIZES)}"
        raise fields[6].fault(rules.TY_3, f"unknown fractal '{fields[6].text}'", hint)
    if len(fields) > 7:
        pads = {p.name: p for p in PadValue}
        if fields[7].text not in pads:
            raise fields[7].fault(rules.TY_2, f"pad '{fields[7].text}' has no counterpart", f"one of {', '.join(pads)}")
        spec["pad"] = int(pads[fields[7].text])
    rows, cols = _size(fields[2], "rows"), _size(fields[3], "cols")
    name = loc if key in ("", "loc") else fields[0]
    return TileSpec(
        _name(name, _LOCS, "loc"), element(fields[1].text, fields[1].offset), rows, cols, rows, cols, **spec
    )


def _layout(got: Mapping[str, _Field]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if "blayout" in got:
        out["blayout"] = _name(got["blayout"], _BLAYOUTS, "blayout")
    if "slayout" in got:
        out["slayout"] = _name(got["slayout"], _SLAYOUTS, "slayout")
    if "fractal" in got:
        fractal = _number(got["fractal"])
        if fractal not in _FRACTALS:
            raise got["fractal"].fault(rules.TY_3, f"fractal is 16, 32, 512 or 1024, not {got['fractal'].text}")
        out["fractal"] = fractal
    if "pad" in got:
        pad = _number(got["pad"])
        if pad is None or not (0 <= pad <= 3 or CUSTOM_PAD <= pad < 2 * CUSTOM_PAD):
            raise got["pad"].fault(rules.TY_2, f"pad is 0 (null), 1 (zero), 2 (max) or 3 (min), not {got['pad'].text}")
        out["pad"] = pad
    if "compact" in got:
        compact = _number(got["compact"])
        if compact is None or not 0 <= compact <= 2:
            raise got["compact"].fault(
                rules.TY_2, f"compact is 0 (null), 1 (normal) or 2 (row_plus_one), not {got['compact'].text}"
            )
        out["compact"] = CompactMode(compact)
    return out


def _name(field: _Field, known: Mapping[str, Any], what: str) -> Any:
    text = field.text.strip('"')
    if text not in known:
        hint = suggest(text, list(known)) or f"one of {', '.join(known)}"
        raise field.fault(rules.TY_1, f"unknown {what} '{text}'", hint)
    return known[text]


def _number(field: _Field) -> int | None:
    return whole(field.text) if _NUMBER.match(field.text) else None


def _size(field: _Field, what: str) -> int:
    value = _number(field)
    if value is None or value < 0:
        raise field.fault(rules.TY_2, f"{what} is a number from 0, not '{field.text}'")
    return value


def _valid(field: _Field, what: str) -> int:
    """A valid size: ``?`` and -1 are both dynamic."""
    if field.text == "?":
        return DYNAMIC
    value = _number(field)
    if value is None or value < DYNAMIC:
        raise field.fault(rules.TY_6, f"{what} is a number from 0, or '?' (also -1), not '{field.text}'")
    return value
