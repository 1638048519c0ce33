"""TQUANT of block-scaled types: fp8 and fp4 with a shared exponent per 32 elements (compute-reduce-matrix 15)."""

from __future__ import annotations

from ptokit.types.enums import MxQuantAlg

from .table import Attr, Instr, dst, instruction, src

TQUANT_MX = instruction(
    Instr(
        "TQUANT_MX",
        "tquant.mx",
        "dst = src scaled by a power of two per 32 elements, which exp holds",
        (dst(), src(), dst("exp"), dst("max"), dst("scaling")),
        (
            Attr("grp_axis", int, 1, "grp_axis"),
            Attr("alg", MxQuantAlg, MxQuantAlg.OcpMxFp8E4M3, "mx_alg", "mx_quant_alg"),
            Attr("interleave", bool, False, "interleave"),
        ),
        cpp="TQUANT",
        implemented=False,
        source="compute-reduce-matrix 15",
    )
)
