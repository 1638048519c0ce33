"""The modules that define instructions, in order, each with all names of these. Made by tools/modules.py.

A module also has the names of other instructions that mean one of its own in some texts.
"""

# ruff: noqa: E501
MODULES = """
compute.arg TROWARGMAX trowargmax TROWARGMIN trowargmin TCOLARGMAX tcolargmax TCOLARGMIN tcolargmin
compute.compare TCMP tcmp TCMPS tcmps TSEL tsel TSELS tsels
compute.convert TCVT tcvt TADDRELUCONV taddreluconv TSUBRELUCONV tsubreluconv TADDDEQRELU tadddeqrelu
compute.elementwise TADD tadd TADDRELU taddrelu TSUB tsub TMUL tmul TDIV tdiv TMAX tmax TMIN tmin TREM trem TFMOD tfmod TPOW tpow TAND tand TOR tor TXOR txor TSHL tshl TSHR tshr TPRELU tprelu TSUBRELU tsubrelu TABS tabs TNEG tneg TNOT tnot TEXP texp TLOG tlog TSQRT tsqrt TRSQRT trsqrt TRECIP trecip TRELU trelu TMULADDDST tmuladddst TFUSEDMULADD tfusedmuladd TFUSEDMULADDRELU tfusedmuladdrelu TAXPY taxpy TADDC taddc TSUBC tsubc TADDSC taddsc TSUBSC tsubsc TEXPANDS texpands TADDS tadds TSUBS tsubs TMULS tmuls TMAXS tmaxs TMINS tmins TDIVS tdivs TREMS trems TFMODS tfmods TPOWS tpows TANDS tands TORS tors TXORS txors TSHLS tshls TSHRS tshrs TLRELU tlrelu
compute.expand TROWEXPAND trowexpand TCOLEXPAND tcolexpand TROWEXPANDADD trowexpandadd TCOLEXPANDADD tcolexpandadd TROWEXPANDSUB trowexpandsub TCOLEXPANDSUB tcolexpandsub TROWEXPANDMUL trowexpandmul TCOLEXPANDMUL tcolexpandmul TROWEXPANDDIV trowexpanddiv TCOLEXPANDDIV tcolexpanddiv TROWEXPANDMAX trowexpandmax TCOLEXPANDMAX tcolexpandmax TROWEXPANDMIN trowexpandmin TCOLEXPANDMIN tcolexpandmin TROWEXPANDEXPDIF trowexpandexpdif TCOLEXPANDEXPDIF tcolexpandexpdif
compute.partial TPARTADD tpartadd TPARTMUL tpartmul TPARTMAX tpartmax TPARTMIN tpartmin TPARTARGMAX tpartargmax TPARTARGMIN tpartargmin TPairReduceSum tpairreducesum
compute.quantize TQUANT tquant TDEQUANT tdequant
compute.quantize_mx TQUANT_MX tquant.mx
compute.reduce TROWSUM trowsum TROWPROD trowprod TROWMAX trowmax TROWMIN trowmin TCOLSUM tcolsum TCOLPROD tcolprod TCOLMAX tcolmax TCOLMIN tcolmin
cube.drains get_ctrl sbitset1 sbitset0 set_ctrl set_loop3_para set_channel_para set_mte2_nz_para set_pad_val_outtol1 set_loop_size_outtol1 set_loop1_stride_outtol1 set_loop2_stride_outtol1 set_quant_pre set_relu_alpha set_fix_clip_relu set_fpc set_store_atomic_cfg set_atomic_add set_atomic_max set_atomic_min set_atomic_none set_atomic_f32 set_atomic_f16 set_atomic_s16 set_atomic_s32 set_atomic_s8 set_atomic_bf16 SETHF32MODE sethf32mode SETTF32MODE settf32mode mte_l0c_gm mte_l0c_ub mte_l0c_l1 copy_matrix_cc_to_gm copy_matrix_cc_to_cbuf copy_matrix_cc_to_ub
cube.copies mte_gm_l1 mte_l1_ub mte_l1_fb mte_l1_bt copy_gm_to_cbuf copy_ubuf_to_cbuf copy_cbuf_to_ubuf copy_cbuf_to_bt copy_cbuf_to_fbuf raw_fill_l1 create_cbuf_matrix mte_gm_l1_frac copy_gm_to_cbuf_multi_nd2nz copy_gm_to_cbuf_multi_dn2nz mte_l1_l0a mte_l1_l0a_mx load_cbuf_to_ca load_cbuf_to_ca_s4 load_cbuf_to_ca_mx mte_l1_l0b mte_l1_l0b_mx load_cbuf_to_cb load_cbuf_to_cb_s4 load_cbuf_to_cb_mx
cube.matmul TMATMUL tmatmul TMATMUL_ACC tmatmul.acc TMATMUL_BIAS tmatmul.bias TGEMV tgemv TGEMV_ACC tgemv.acc TGEMV_BIAS tgemv.bias
cube.matmul_mx TMATMUL_MX tmatmul.mx TMATMUL_MX_ACC tmatmul.mx.acc TMATMUL_MX_BIAS tmatmul.mx.bias TGEMV_MX tgemv.mx TGEMV_MX_ACC tgemv.mx.acc TGEMV_MX_BIAS tgemv.mx.bias TGET_SCALE_ADDR tget_scale_addr get_scale_addr
cube.products mad mad_raw mad_acc mad_bias mad_bias_raw mad_mx mad_mx_raw mad_mx_acc mad_mx_bias mad_mx_bias_raw
pending bind_tile pointer_cast declare_tile_memref
exchange.collective comm.tbroadcast comm.tgather comm.tscatter comm.treduce comm.tput comm.tget TPUT tput TGET tget TBROADCAST tbroadcast TREDUCE treduce GROUP_GATHER tgather.group tgather GROUP_SCATTER tscatter.group tscatter MAKE_GROUP make_group build_async_session comm.build_async_session tput_async comm.tput_async tget_async comm.tget_async wait_async_event comm.wait_async_event test_async_event comm.test_async_event
exchange.core_pipes aic_initialize_pipe tpush_to_aic tpop_from_aic tfree_from_aic talloc_to_aic aiv_initialize_pipe tpush_to_aiv tpop_from_aiv tfree_from_aiv talloc_to_aiv reserve_buffer import_reserved_buffer initialize_l2g2l_pipe initialize_l2l_pipe TPUSH tpush TPOP tpop TFREE tfree TALLOC talloc declare_global set_quant_scalar set_quant_vector
irregular.concat TCONCATIDX tconcatidx TCONCAT tconcat TINTERLEAVE tinterleave TDEINTERLEAVE tdeinterleave TPACK tpack
irregular.gather_tile TGATHER tgather TGATHERB tgatherb TSCATTER tscatter THISTOGRAM thistogram
irregular.generate TCI tci TTRI ttri TRANDOM trandom TFILLPAD tfillpad TFILLPAD_INPLACE tfillpad_inplace TFILLPAD_EXPAND tfillpad_expand
irregular.sort TSORT32 tsort32 TMRGSORT tmrgsort
irregular.transpose TTRANS ttrans TIMG2COL timg2col SETFMATRIX setfmatrix SET_IMG2COL_RPT set_img2col_rpt SET_IMG2COL_PADDING set_img2col_padding
move.move TMOV tmov tmov.m2l tmov.m2r tmov.m2b tmov.m2s tmov.a2v tmov.v2v tmov.s2d TMOV_FP tmov.fp
move.insert TEXTRACT textract TEXTRACT_FP textract_fp textract.fp TEXTRACT2 textract2 TINSERT tinsert TINSERT_FP tinsert_fp tinsert.fp
order.core_sync SYNCALL syncall TNOTIFY tnotify comm.tnotify TWAIT twait comm.twait TTEST ttest comm.ttest dcci cmo.cacheinvalid fence.barrier_all dsb
order.sync set_flag wait_flag set_flag_dyn wait_flag_dyn pipe_barrier barrier TSYNC tsync record_event wait_event barrier_sync get_buf rls_buf get_buf_dyn rls_buf_dyn sync.set sync.wait set_cross_block wait_cross_block set_intra_block wait_intra_block set_ffts mem_bar
scalar.elements TSETVAL tsetval TGETVAL tgetval TRAP trap TPRINT tprint PRINT print
scalar.views MAKE_TENSOR_VIEW make_tensor_view PARTITION_VIEW partition_view GET_TENSOR_VIEW_DIM get_tensor_view_dim GET_TENSOR_VIEW_STRIDE get_tensor_view_stride tensor_view_addr tile_buf_addr ALLOC_TILE alloc_tile DECLARE_TILE declare_tile TASSIGN tassign SUBSET subset SUBVIEW subview SET_VALIDSHAPE set_validshape GET_VALIDSHAPE get_validshape TILE_VALID_ROWS tile_valid_rows TILE_VALID_COLS tile_valid_cols TRESHAPE treshape talias BITCAST bitcast ADDPTR addptr CASTPTR castptr PTRTOINT ptrtoint INTTOPTR inttoptr LOAD_SCALAR load_scalar STORE_SCALAR store_scalar GET_BLOCK_IDX get_block_idx GET_BLOCK_NUM get_block_num GET_SUBBLOCK_IDX get_subblock_idx GET_SUBBLOCK_NUM get_subblock_num alloc_multi_tile multi_tile_get declare_local_array local_array_get local_array_set declare_struct struct_get struct_set declare_eventid_array eventid_array_get eventid_array_set
simt.lanes get_tid_x get_block_dim_x get_grid_dim_x get_block_idx_x get_tid_y get_block_dim_y get_grid_dim_y get_block_idx_y get_tid_z get_block_dim_z get_grid_dim_z get_block_idx_z get_veccoreid get_laneid get_clock32 get_clock64 get_lanemask_eq get_lanemask_le get_lanemask_lt get_lanemask_ge get_lanemask_gt vote_all vote_any vote_uni vote_ballot shuffle_idx shuffle_up shuffle_down shuffle_bfly redux_add redux_max redux_min syncthreads threadfence threadfence_block keep resume sqrt absf exp log sin cos ceil floor rint round fmin fmax pow fma prmt mulhi mul_i32toi64 convert
simt.memory load ld_dev ldg store st_dev stg atomic_exch atomic_add atomic_sub atomic_min atomic_max atomic_and atomic_or atomic_xor atomic_cas store_vfsimt_info simt_launch
transfer.gather MGATHER mgather
transfer.load TLOAD tload TPREFETCH tprefetch TPREFETCH_ASYNC tprefetch_async prefetch_wait make_prefetch_async_context prefetch_async get_prefetch_async_session
transfer.scatter MSCATTER mscatter
transfer.store TSTORE tstore TSTORE_FP tstore_fp tstore.fp
vector.access.load_store vlds uvld vsts vldsx2 vldx2 vstsx2 vstx2 vlds_post vsts_post
vector.access.stream vldas vldus init_align vstus vstur vstu vstas vsta vstar sprclr sprsti sprsts
vector.access.strided vsldb vsstb vsld vsst vgather2 vgather2_bc vgatherb vscatter
vector.predicates pset_b8 pge_b8 plt_b8 pltm_b8 pintlv_b8 pdintlv_b8 pset_b16 pge_b16 plt_b16 pltm_b16 pintlv_b16 pdintlv_b16 pset_b32 pge_b32 plt_b32 pltm_b32 pintlv_b32 pdintlv_b32 pand por pxor pnot psel ppack punpack pbitcast plds pldi pld psts psti pst pstu
vector.compute.arithmetic vadd vsub vmul vdiv vmax vmin vand vor vxor vaddc vsubc vaddcs vsubcs vprelu vaddrelu vsubrelu vmula vmadd vmull vabs vneg vexp vln vsqrt vrsqrt vrec vrelu vnot vbcnt vcls vmov vadds vsubs vmuls vmaxs vmins vands vors vxors vlrelu vaxpy vshls vshl vshrs vshr vcmp vcmps vsel vselr vselrv2
vector.compute.materialise vbr vdup vci
vector.compute.convert vcvt vtrc vexpdif vexpdiff vmulscvt vaddreluconv vmulconv
vector.compute.histogram chistv2 dhistv2
vector.compute.rearrange vintlvv2 vintlv vdintlvv2 vdintlv vsqz vusqz vpack vsunpack vzunpack vslide vshift vperm vbitcast
vector.compute.reduce vcadd vcmax vcmin vcgadd vcgmax vcgmin vcbmax vcbmin vcpadd vbitsort vmrgsort4 vmrgsort get_vms4_sr vtranspose vsort32
vector.dma.copies copy_gm_to_ubuf copy_ubuf_to_gm copy_ubuf_to_ubuf mte_gm_ub mte_ub_gm mte_ub_ub mte_ub_l1 set_loop_size_outtoub set_loop1_stride_outtoub set_loop2_stride_outtoub set_loop_size_ubtoout set_loop1_stride_ubtoout set_loop2_stride_ubtoout set_mov_pad_val ub.vadd ub.vsub ub.vmul ub.vmax ub.vmin ub.vdiv ub.vand ub.vor ub.vaddrelu ub.vnot ub.vabs ub.vrelu ub.vexp ub.vln ub.vsqrt ub.vrsqrt ub.vshl ub.vshr ub.vmuls ub.vadds ub.vmaxs ub.vmins ub.vdup ub.set_mask ub.set_mask_count ub.set_mask_norm
vmi.compute vmi.addf vmi.addi vmi.subf vmi.subi vmi.mulf vmi.muli vmi.divf vmi.minf vmi.maxf vmi.mini vmi.maxi vmi.andi vmi.ori vmi.xori vmi.shli vmi.shrui vmi.shrsi vmi.negf vmi.negi vmi.absf vmi.absi vmi.sqrt vmi.exp vmi.ln vmi.relu vmi.not vmi.fma vmi.cmpf vmi.cmpi vmi.select vmi.extf vmi.sitofp vmi.extsi vmi.extui vmi.bitcast vmi.vinterpret_cast vmi.truncf vmi.fptosi vmi.fptoui vmi.trunci vmi.vadd vmi.vsub vmi.vmul vmi.vdiv vmi.vmin vmi.vmax vmi.vshl vmi.vshr vmi.vand vmi.vor vmi.vxor vmi.vnot vmi.vneg vmi.vabs vmi.vsqrt vmi.vexp vmi.vln vmi.vrelu vmi.vadds vmi.vmuls vmi.vmaxs vmi.vmins vmi.vshls vmi.vshrs vmi.vaddc vmi.vaddcs vmi.vcmp vmi.vcmps vmi.vsel vmi.vcvt vmi.vexpdif vmi.vaxpy vmi.vlrelu vmi.vprelu vmi.vmula vmi.vmull
vmi.memory vmi.load vmi.deinterleave_load vmi.group_load vmi.group_slot_load vmi.group_broadcast_load vmi.stride_load vmi.masked_load vmi.expand_load vmi.store vmi.interleave_store vmi.group_store vmi.masked_store vmi.compress_store vmi.stride_store vmi.vload vmi.vstore vmi.vsstb vmi.vgather vmi.vgatherb vmi.vscatter vmi.gather vmi.scatter
vmi.shape vmi.constant vmi.constant_mask vmi.broadcast vmi.vbrc vmi.iota vmi.group_iota vmi.vci vmi.create_mask vmi.create_group_mask vmi.pset vmi.pge vmi.plt vmi.mask_and vmi.mask_or vmi.mask_xor vmi.mask_not vmi.reduce_addi vmi.group_reduce_addi vmi.reduce_maxf vmi.group_reduce_maxf vmi.reduce_minf vmi.group_reduce_minf vmi.reduce_maxi vmi.group_reduce_maxi vmi.reduce_mini vmi.group_reduce_mini vmi.reduce_addf vmi.group_reduce_addf vmi.vcadd vmi.vcmax vmi.vcmin vmi.vdhist vmi.vchist vmi.group_broadcast vmi.active_prefix_index vmi.compress vmi.vselr vmi.vintlv vmi.vdintlv vmi.shuffle vmi.channel_split vmi.channel_merge vmi.ensure_layout vmi.ensure_mask_layout vmi.ensure_mask_granularity vmi.unpack vmi.pack
"""
