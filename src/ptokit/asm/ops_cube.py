"""Written forms of the cube unit's operations on pointers (assembly 12). Notation: `ptokit.asm.notation`."""

from __future__ import annotations

_FLAGS = (
    "<? unit_flag ~( W(unit_flag) ) ?> <? W(disable_gemv) ?> <? W(saturation) ?> "
    "<? tf32_mode ~( W(tf32_mode) ) ?> <? W(n_dir) ?> {}"
)
_QUANT = "<? , pre_quant ~( %quant , mode = W(quant_mode) ) ?>"
_RELU = "<? , pre_relu ~( <? %relu , ?> mode = W(relu_mode) <? , clip = %clip ?> ) ?>"
_TAIL = (
    "<? , unit_flag ~( W(unit_flag) ) ?> "
    f"{_QUANT} {_RELU} <? , W(conversion) <? ~( %layout_stride ) ?> ?> "
    "<? , loop3 ~( %loop_count , %loop_src , %loop_dst ) ?> <? , W(saturation) <? ~( W(nan) ) ?> ?> "
    "<? , atomic ~( type = W(atomic_element) , op = W(atomic_op) ) ?> {}"
)
_TAIL_TYPES = (
    "<? , T(quant) ?> <? , T(relu) ?> <? , T(clip) ?> <? , T(layout_stride) ?> "
    "<? , T(loop_count) , T(loop_src) , T(loop_dst) ?>"
)


def _listed(names: str, form: str = "%{}") -> str:
    """The operands, or with another form their types, with commas between."""
    return " , ".join(form.format(n) for n in names.split())


def _mad(operands: str) -> str:
    return f"{_listed(operands)} {_FLAGS} : {_listed(operands, 'T({})')}"


def _drain(operands: str, mode: str = "", mode_type: str = "") -> str:
    return f"{_listed(operands)} {mode} {_TAIL} : {_listed(operands, 'T({})')} {mode_type} {_TAIL_TYPES}"


_SIZES = "src dst m n src_stride dst_stride"
FORMS: dict[str, tuple[str, ...]] = {
    "mad": (_mad("lhs rhs dst m n k"),),
    "mad_bias": (_mad("lhs rhs dst bias m n k"),),
    "mte_gm_l1_frac": (
        "%src , %dst , W(conversion) , shape ~( %shape0 , %shape1 ) , src_layout ~( %src_stride <? , %src_stride2 ?> ) "
        ", dst_group ~( %group0 , %group1 , %group2 , %group3 ) , ctrl ~( %ctrl , %ctrl_flag ) {} "
        ": T(src) , T(dst) , W(conversion) , shape T(shape0) , T(shape1) , "
        "src_layout ~( T(src_stride) <? , T(src_stride2) ?> ) , "
        "dst_group T(group0) , T(group1) , T(group2) , T(group3) , ctrl T(ctrl) , T(ctrl_flag)",
    ),
    "mte_l0c_gm": (_drain(f"{_SIZES} sid l2_cache_ctl"),),
    "mte_l0c_l1": (_drain(_SIZES),),
    "mte_l0c_ub": (_drain(_SIZES, "<? , dst_mode ~( <? %sub_core ?> <? W(dst_mode) ?> ) ?>", "<? , T(sub_core) ?>"),),
}
"""By the instruction's `syntax` word."""
