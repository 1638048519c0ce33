"""Every value of every enumeration attribute, in every spelling (assembly 4)."""

from __future__ import annotations

import pytest

from ptokit.asm.forms.attributes import DECLARED, WORDS, Written, declared_value, positional
from ptokit.asm.text.cursor import Cursor
from ptokit.asm.text.lexer import Tokens
from ptokit.diagnostics import Diagnostics
from ptokit.isa.table import TABLE, Attr

VALUES = {
    "address_space": "zero gm mat left right acc vec bias scaling",
    "pipe": "PIPE_S PIPE_V PIPE_M PIPE_MTE1 PIPE_MTE2 PIPE_MTE3 PIPE_ALL PIPE_MTE4 PIPE_MTE5 PIPE_V2 PIPE_FIX "
    "VIRTUAL_PIPE_MTE2_L1A VIRTUAL_PIPE_MTE2_L1B PIPE_NUM PIPE_UNASSIGNED",
    "event": " ".join(f"EVENT_ID{k}" for k in range(8)),
    "pipe_event_type": "TLOAD TSTORE_ACC TSTORE_VEC TMOV_M2L TMOV_M2S TMOV_M2B TMOV_M2V TMOV_V2M TMATMUL TVEC "
    "TVECWAIT_EVENT",
    "layout": "nd dn nz",
    "kernel_kind": "cube vector",
    "func_core_type": "AIC AIV MIX AIC_OR_AIV",
    "module_core_type": "AIC AIV MIX",
    "padmode": "PadNull PadFirstElem PadValue",
    "cmp": "eq ne lt le gt ge",
    "round_mode": "NONE RINT ROUND FLOOR CEIL TRUNC ODD CAST_RINT",
    "saturation_mode": "ON OFF",
    "precision_mode": "HIGH_PRECISION",
    "st_phase": "unspecified partial final",
    "atomic_type": "atomic_none atomic_add atomic_max atomic_min",
    "relu_pre_mode": "no_relu normal_relu",
    "gather_oob": "undefined clamp wrap zero",
    "scatter_atomic_op": "none add max min",
    "scatter_oob": "undefined skip clamp wrap",
    "acc_to_vec_mode": "single_mode_vec0 single_mode_vec1 dual_mode_split_m dual_mode_split_n",
    "mask_pattern": "P0101 P1010 P0001 P0010 P0100 P1000 P1111",
    "quant_type": "INT8_SYM INT8_ASYM",
}


def declared(mnemonic: str) -> Attr:
    """An attribute of this kind: of an instruction, of modules and functions, or one that is only carried."""
    of_instructions = (a for i in TABLE.values() for a in i.attrs if a.mnemonic == mnemonic)
    known = next(of_instructions, None) or next((a for a in DECLARED.values() if a.mnemonic == mnemonic), None)
    return known if known is not None else Attr(mnemonic, str, None, mnemonic, mnemonic)


def read(attr: Attr, text: str) -> tuple[object, list[str]]:
    """The value of a spelling, and the rules reported."""
    cursor = Cursor(Tokens("x"), "t.pto", Diagnostics())
    value = declared_value(cursor, attr, Written(text, 0))
    return value, [d.rule for d in cursor.diagnostics]


@pytest.mark.parametrize("mnemonic", VALUES)
def test_values(mnemonic: str) -> None:
    attr = declared(mnemonic)
    assert attr.kind is not str or mnemonic == "event" or set(WORDS[mnemonic]) == set(VALUES[mnemonic].split())
    for word in VALUES[mnemonic].split():
        spelled = [f"#pto.{mnemonic}<{word}>", f"#pto<{mnemonic} {word}>", f"<{word}>"]
        values = [read(attr, text) for text in spelled]
        assert [rules for _, rules in values] == [[], [], []]
        assert values[0][0] == values[1][0] == values[2][0] is not None
        assert positional(attr, values[0][0], full=True) in spelled
        assert positional(attr, values[0][0], full=False) == f"<{word}>"


@pytest.mark.parametrize("mnemonic", VALUES)
@pytest.mark.parametrize("spelling", ["#pto.{0}<{1}>", "#pto<{0} {1}>", "<{1}>"])
def test_unknown_values(mnemonic: str, spelling: str) -> None:
    first = VALUES[mnemonic].split()[0]
    for word in ("bogus", first + "x", ""):
        value, rules = read(declared(mnemonic), spelling.format(mnemonic, word))
        assert value is None
        assert rules in (["TY-8"], ["TEXT-ATTRIBUTE"])
        assert rules == ["TY-8"] or not word
