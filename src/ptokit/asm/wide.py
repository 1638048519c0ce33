"""Names of operations that ptokit knows but the instruction table may not hold (assembly 6, 9, 12)."""

from __future__ import annotations

import re

TILE_OPERATIONS = frozenset(
    """tabs texp tlog tsqrt trecip trelu tneg tnot tcolexpand trowexpand tcolmax tcolmin tcolprod tcolsum tfillpad
    tfillpad_expand tfillpad_inplace tpack tget_scale_addr tload tprefetch trsqrt tadd tsub tmul tdiv tmax tmin tand
    tor tshl tshr tfmod tpartadd tpartmul tpartmax tpartmin tcolexpandadd tcolexpandsub tcolexpandmul tcolexpanddiv
    tcolexpandmax tcolexpandmin tcolexpandexpdif trowexpandadd tconcat trowexpandsub trowexpandmul trowexpanddiv
    trowexpandmax trowexpandmin trowexpandexpdif txor trem tprelu taddc tsubc trowsum trowprod trowmax trowmin
    trowargmax trowargmin tcolargmax tcolargmin ttrans tadds tsubs tmuls tmaxs tmins tfmods tands tors tshls tshrs
    tlrelu taxpy txors trems taddsc tsubsc texpands tscatter tgatherb textract tinsert textract_fp tinsert_fp tmov.fp
    tstore_fp tstore.fp tsel tsels tdequant tmatmul tgemv tmatmul.acc tgemv.acc tmatmul.bias tgemv.bias tmatmul.mx
    tgemv.mx tmatmul.mx.acc tgemv.mx.acc tmatmul.mx.bias tgemv.mx.bias tdivs tcmp tcmps tcvt tci ttri trandom
    thistogram tquant tgather tmrgsort tsort32 tsetval tgetval tprint print trap tmov tstore mgather mscatter tpow
    tpows timg2col tprefetch_async setfmatrix set_img2col_rpt set_img2col_padding sethf32mode settf32mode talias
    get_scale_addr subview tile_buf_addr bind_tile pointer_cast declare_tile_memref""".split()
)

PIPE_OPERATIONS = frozenset(
    """aic_initialize_pipe aiv_initialize_pipe tpush_to_aiv tpush_to_aic tpop_from_aic tpop_from_aiv tfree_from_aic
    tfree_from_aiv reserve_buffer import_reserved_buffer initialize_l2g2l_pipe initialize_l2l_pipe tpush tpop tfree
    build_async_session tput_async tget_async wait_async_event test_async_event declare_eventid_array eventid_array_get
    eventid_array_set get_buf rls_buf sync.set sync.wait mem_bar set_ffts""".split()
)

WIDE_OPERATIONS = frozenset(
    """vecscope vlds vldsx2 vldas vldus vsld vsldb vgather2 vgatherb vgather2_bc vsts vstsx2 vstas vstus vstur vstar
    vsst vsstb vscatter pset_b8 pset_b16 pset_b32 pge_b8 pge_b16 pge_b32 plt_b8 plt_b16 plt_b32 pand por pxor psel
    pnot ppack punpack pbitcast pintlv_b8 pintlv_b16 pintlv_b32 pdintlv_b8 pdintlv_b16 pdintlv_b32 plds pldi psts
    psti pstu vabs vneg vexp vln vsqrt vrelu vnot vtrc vcvt vadd vsub vmul vdiv vmax vmin vand vor vxor vshl vshr
    vprelu vexpdif vmula vmull vaddc vsubc vaddcs vsubcs vaxpy vadds vmuls vmaxs vmins vlrelu vshls vshrs vdup vbr
    vci vcmp vcmps vsel vselr vcadd vcmax vcmin vcgadd vcgmax vcgmin vcpadd vintlv vdintlv vpack vsunpack vzunpack
    vsqz vusqz vbitsort vmrgsort4 get_vms4_sr init_align sprclr get_ctrl set_ctrl sbitset1 mte_gm_ub mte_ub_gm
    mte_gm_l1 mte_l1_ub mte_ub_ub mte_l1_fb mte_l1_bt copy_gm_to_ubuf copy_ubuf_to_gm copy_ubuf_to_ubuf
    copy_gm_to_cbuf copy_ubuf_to_cbuf copy_cbuf_to_ubuf set_loop1_stride_outtoub set_loop2_stride_outtoub
    set_loop_size_outtoub set_loop1_stride_ubtoout set_loop2_stride_ubtoout set_loop_size_ubtoout mte_gm_l1_frac
    mte_l1_l0a mte_l1_l0b mte_l1_l0a_mx mte_l1_l0b_mx load_cbuf_to_ca mad mad_acc mad_bias mad_mx mad_mx_acc
    mad_mx_bias mte_l0c_gm mte_l0c_ub mte_l0c_l1""".split()
)

KNOWN_OPERATIONS = TILE_OPERATIONS | PIPE_OPERATIONS | WIDE_OPERATIONS
"""Text names without ``pto.``."""

KNOWN_FOREIGN = frozenset(
    """scf.parallel scf.forall scf.reduce memref.load memref.store memref.subview memref.cast cf.br cf.cond_br
    cf.switch cf.assert""".split()
)
"""Operations of other dialects the reference assembler takes and ptokit does not (assembly 11)."""

_POINTER_MAKERS = frozenset({"castptr", "tile_buf_addr"})  # their results point into on-chip buffers
_WIDE = WIDE_OPERATIONS | _POINTER_MAKERS
_NAME = re.compile(r"\bpto\.(\w+)")


def uses_wide_operations(text: str) -> bool:
    """True if a register-level operation, or one that makes pointers to on-chip buffers, is named in the text."""
    return not _WIDE.isdisjoint(_NAME.findall(text))
