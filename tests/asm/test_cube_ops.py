"""Operations of the cube unit on pointers: every clause is read and printed, in its place and no other."""

from __future__ import annotations

import pytest

from ptokit.ir.verify import verify
from ptokit.targets import target

from .reading import FIRST_LINE, errors, parse_module, read, round_trip

SPACES = "gm l1 l0a l0b l0c bt fb ub".split()
PARAMETERS = ", ".join(f"%{s}: !pto.ptr<f16, {s}>" for s in SPACES)
HEAD = f"module {{\n  func.func @f({PARAMETERS}, %n: i64, %x: f32, %c: i1) {{\n"
P = {s: f"!pto.ptr<f16, {s}>" for s in SPACES}


def i64(count: int) -> str:
    return ", ".join(["i64"] * count)


def n(count: int) -> str:
    return ", ".join(["%n"] * count)


MAD = f"pto.mad %l0a, %l0b, %l0c, {n(3)}"
MAD_TYPES = f": {P['l0a']}, {P['l0b']}, {P['l0c']}, {i64(3)}"
GM = f"pto.mte_l0c_gm %l0c, %gm, {n(6)}"
GM_TYPES = f": {P['l0c']}, {P['gm']}, {i64(6)}"
UB = f"pto.mte_l0c_ub %l0c, %ub, {n(4)}"
UB_TYPES = f": {P['l0c']}, {P['ub']}, {i64(4)}"
TEXTS = [
    *(
        f"{MAD}{flags} {MAD_TYPES}"
        for flags in (
            "",
            " unit_flag(check_only)",
            " unit_flag(check_and_set) disable_gemv sat n_dir",
            " disable_gemv",
            " tf32_mode(round_even)",
            " nosat",
            " n_dir",
        )
    ),
    f"pto.mad_acc %l0a, %l0b, %l0c, {n(3)} nosat {MAD_TYPES}",
    f"pto.mad_mx_bias %l0a, %l0b, %l0c, %bt, {n(3)} : {P['l0a']}, {P['l0b']}, {P['l0c']}, {P['bt']}, {i64(3)}",
    f"{GM} {GM_TYPES}",
    f"{GM}, nz2nd {GM_TYPES}",
    f"{GM}, nz2dn(%n) {GM_TYPES}, i64",
    f"{GM}, unit_flag(check_only), nz2nd, loop3(%n, %n, %n), sat {GM_TYPES}, {i64(3)}",
    f"{GM}, nz2nd, loop3(%n, %n, %n), atomic(type = f32, op = add) {GM_TYPES}, {i64(3)}",
    f"{GM}, pre_quant(%x, mode = qf322f16_pre_scalar), pre_relu(%x, mode = scalar_relu, clip = %x), nz2nd "
    f"{GM_TYPES}, f32, f32, f32",
    f"{GM}, pre_quant(%fb, mode = qf322f16_pre_vec), pre_relu(mode = normal_relu), nz2nd {GM_TYPES}, {P['fb']}",
    f"{GM}, pre_relu(mode = no_relu, clip = %x) {GM_TYPES}, f32",
    f"{UB}, dst_mode(split_m), nz2nd {UB_TYPES}",
    f"{UB}, dst_mode(%n), unit_flag(check_only), pre_relu(mode = normal_relu), nz2nd {UB_TYPES}, i64",
    f"pto.mte_l0c_l1 %l0c, %l1, {n(4)}, nz2nd, sat : {P['l0c']}, {P['l1']}, {i64(4)}",
    f"pto.mte_gm_l1_frac %gm, %l1, nd2nz, shape(%n, %n), src_layout(%n), dst_group({n(4)}), ctrl(%n, %c) "
    f": {P['gm']}, {P['l1']}, nd2nz, shape i64, i64, src_layout(i64), dst_group {i64(4)}, ctrl i64, i1",
    f"pto.mte_gm_l1_frac %gm, %l1, dn2nz, shape(%n, %n), src_layout(%n, %n), dst_group({n(4)}), ctrl(%n, %c) "
    f": {P['gm']}, {P['l1']}, dn2nz, shape i64, i64, src_layout(i64, i64), dst_group {i64(4)}, ctrl i64, i1",
    f"pto.mte_gm_l1 %gm, %l1, %n nburst(%n, %n, %n) loop(%n, %n, %n) : {P['gm']}, {P['l1']}, {i64(4)}, loop {i64(3)}",
    *(f"pto.mte_l1_{to} %l1, %{to}, %n nburst(%n, %n, %n) : {P['l1']}, {P[to]}, {i64(4)}" for to in ("ub", "fb", "bt")),
    f"pto.mte_l1_l0a %l1, %l0a, %n, %n : {P['l1']}, {P['l0a']}, i64, i64",
    f"pto.mte_l1_l0b %l1, %l0b, %n, %n {{transpose = true}} : {P['l1']}, {P['l0b']}, i64, i64",
    f"pto.mte_l1_l0a_mx %l1, %l0a, %n, %n : {P['l1']}, {P['l0a']}, i64, i64",
    f"pto.load_cbuf_to_ca %l1, %l0a, {n(6)} : {P['l1']}, {P['l0a']}, {i64(6)}",
    f"pto.copy_gm_to_cbuf %gm, %l1, {n(4)} : {P['gm']}, {P['l1']}, {i64(4)}",
    f"pto.copy_ubuf_to_cbuf %ub, %l1, {n(5)} : {P['ub']}, {P['l1']}, {i64(5)}",
    f"pto.copy_cbuf_to_ubuf %l1, %ub, {n(5)} : {P['l1']}, {P['ub']}, {i64(5)}",
    "%r = pto.get_ctrl : i64",
    "pto.set_ctrl %n : i64",
    "%r = pto.sbitset1 %n, %n : i64, i64 -> i64",
]


def in_kernel(text: str) -> str:
    """A module whose function has pointers into every memory, a number of each kind, and the text."""
    return f"{HEAD}{text}\nreturn\n  }}\n}}\n"


@pytest.mark.parametrize("text", TEXTS)
def test_canonical_text(text: str) -> None:
    lines = round_trip(read(in_kernel(text))).splitlines()
    assert [line.strip() for line in lines[2:-3]] == [text]


@pytest.mark.parametrize(
    "text",
    [
        f"{MAD} unit_flag(check_often) {MAD_TYPES}",
        f"{MAD} sat nosat {MAD_TYPES}",
        f"{MAD} fast {MAD_TYPES}",
        f"{GM}, nd2nz {GM_TYPES}",
        f"{GM}, loop3(%n, %n) {GM_TYPES}, i64, i64",
        f"{GM}, pre_quant(%x) {GM_TYPES}, f32",
        f"{GM}, nz2nd {GM_TYPES}, i64",
        f"{UB}, dst_mode(split_k) {UB_TYPES}",
        "pto.mte_gm_l1_frac %gm, %l1, nd2dn",
    ],
)
def test_clauses_that_do_not_exist(text: str) -> None:
    found = errors(in_kernel(text))
    assert found
    assert {line for _, line, _ in found} == {FIRST_LINE}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (f"pto.mad %l0b, %l0b, %l0c, {n(3)} {MAD_TYPES.replace('l0a', 'l0b')}", "TEXT-OPERANDS"),
        (f"pto.mad %l0a, %l0b, %l0c, %n, %n, %x {MAD_TYPES.removesuffix('i64')}f32", ""),
        (f"pto.mad %l0a, %l0b, %n, {n(3)} {MAD_TYPES.replace(P['l0c'], 'i64')}", "TEXT-OPERANDS"),
        (f"{GM}, pre_quant(%fb, mode = req8_vec) {GM_TYPES}, f32", "TY-9"),
        (f"pto.mte_l0c_gm %l0c, %n, {n(6)} : {P['l0c']}, i64, {i64(6)}", "TEXT-OPERANDS"),
    ],
)
def test_operands(text: str, rule: str) -> None:
    assert [found for found, *_ in errors(in_kernel(text))] == ([rule] if rule else [])


def test_they_can_be_checked() -> None:
    text = in_kernel("\n".join(TEXTS).replace("%r =", "%r1 =", 1).replace("%r =", "%r2 =", 1))
    result = parse_module(text, "t.pto")
    assert not list(result.diagnostics)
    assert [d for d in verify(result.module, target("a5")) if d.rule == "TEXT-UNIMPLEMENTED"] == []
