"""Calls whose operands C++ gives in another order than the table, or whose form has a name of its own there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptokit.lang.tiles import Tile
from ptokit.types.enums import MxGroupAxis, MxQuantAlg, QuantScaleAlg, QuantType, TileType

Call = tuple[str, list[Any]]


def as_in_table(name: str, args: list[Any]) -> Call:
    """The instruction of the table that a call means, and its operands in the order of the table."""
    adapt = _FORMS.get(name)
    return (name, args) if adapt is None else adapt(name, args)


def _tiles(args: list[Any]) -> list[Tile]:
    return [arg for arg in args if isinstance(arg, Tile)]


def _direction(name: str, args: list[Any]) -> Call:
    """TCI's direction is a number."""
    return name, [*args[:2], *(bool(arg) if isinstance(arg, int) else arg for arg in args[2:])]


def _accumulated(name: str, args: list[Any]) -> Call:
    """Of three operands: it adds to its destination."""
    return name, [args[0], *args] if len(_tiles(args)) == 3 else args


def _scaled(name: str, args: list[Any]) -> Call:
    """With an accumulator in the second place, or a bias in the last."""
    tiles = _tiles(args)
    if len(tiles) == 6:
        return (f"{name}_ACC" if tiles[1].loc is TileType.Acc else f"{name}_BIAS"), args
    return name, args


def _extreme(name: str, args: list[Any]) -> Call:
    """With values: (values, indices, source, scratch)."""
    if len(_tiles(args)) == 4:
        values, indices, source, scratch = args[:4]
        return name, [indices, source, scratch, values, *args[4:]]
    return name, args


def _quantised(name: str, args: list[Any]) -> Call:
    """In blocks with a shared exponent, or to integers: (destination, source, scale, scratch, offset)."""
    blocks = any(isinstance(arg, MxQuantAlg | QuantScaleAlg | MxGroupAxis) for arg in args)
    blocks = blocks or any(arg in (QuantType.MXFP8, QuantType.MXFP4_E2M1) for arg in args if isinstance(arg, QuantType))
    tiles = _tiles(args)
    if blocks or len(tiles) > 5:
        return f"{name}_MX", args
    if len(tiles) == 5:
        rest = [arg for arg in args if not isinstance(arg, Tile)]
        return name, [*tiles[:3], tiles[4], tiles[3], *rest]
    return name, args


def _extracted(name: str, args: list[Any]) -> Call:
    """Two destinations; a third tile with the numbers of a quantisation is something else."""
    tiles = _tiles(args)
    two = len(tiles) == 3 and tiles[2].loc is not TileType.Scaling
    return (f"{name}2" if two else name), args


def _histogram(name: str, args: list[Any]) -> Call:
    """The byte that is counted is said by its number only."""
    return name, [*_tiles(args), True, *(arg for arg in args if isinstance(arg, int))]


def _paired(name: str, args: list[Any]) -> Call:
    return "TPairReduceSum", args


_FORMS: dict[str, Callable[[str, list[Any]], Call]] = {
    "TCI": _direction,
    **dict.fromkeys(("TMATMUL_ACC", "TGEMV_ACC"), _accumulated),
    **dict.fromkeys(("TMATMUL_MX", "TGEMV_MX"), _scaled),
    **dict.fromkeys(("TROWARGMAX", "TROWARGMIN", "TCOLARGMAX", "TCOLARGMIN"), _extreme),
    "TQUANT": _quantised,
    "TEXTRACT": _extracted,
    "THISTOGRAM": _histogram,
    "TPAIRREDUCESUM": _paired,
}
