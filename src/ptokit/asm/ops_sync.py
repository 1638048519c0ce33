"""Written forms of synchronisation, core-to-core pipes and asynchronous transfers (assembly 8, 9)."""

from __future__ import annotations

FLAG = "~[ A(src_pipe) , A(dst_pipe) , A(event_id) ] {}"
FLAG_CALL = "( B(src_pipe) , B(dst_pipe) , B(event_id) )"
FLAG_DYN = "~[ A(src_pipe) , A(dst_pipe) , %event:index ] {}"
EVENT = "~[ A!(src_op) , A!(dst_op) , A(event_id) ] {}"
BUFFER = ("[ A!(op) , N(id) ] {}", "N(op) , N(id) <? , N(mode) ?> {}")
_FRONTEND_PIPE = (
    "{ dir_mask = N(dir_mask) , slot_size = N(slot_size) <? , nosplit = N(nosplit) ?> } "
    "( <? gm_slot_buffer = %gm_slot_buffer : T(gm_slot_buffer) , ?> c2v_consumer_buf = %c2v_consumer_buf : "
    "T(c2v_consumer_buf) , v2c_consumer_buf = %v2c_consumer_buf : T(v2c_consumer_buf) )"
)
_SIGNAL = "~( %signal , %value : T(signal) , T(value) ) {}"
_SPLIT = "{ split = N(split) }"

FORMS: dict[str, tuple[str, ...]] = {
    "set_flag": (FLAG, FLAG_CALL, FLAG),
    "wait_flag": (FLAG, FLAG_CALL, FLAG),
    "set_flag_dyn": (FLAG_DYN,),
    "wait_flag_dyn": (FLAG_DYN,),
    "barrier": ("A(pipe) {}",),
    "record_event": (EVENT,),
    "wait_event": (EVENT,),
    "barrier_sync": ("~[ A!(op) ] {}",),
    "tsync": ("ins ~( <? %events* : T(events) ?> ) {}",),
    "declare_eventid_array": ("{} -> R",),
    "eventid_array_get": ("%array ~[ %index:index ] {} : T(array) R=index",),
    "eventid_array_set": ("%array ~[ %index:index ] , %event:index {} : T(array)",),
    "get_buf": BUFFER,
    "rls_buf": BUFFER,
    "sync.set": ("A(pipe) , <? %event ?> <? N(event_id) ?> {}",),
    "sync.wait": ("A(pipe) , <? %event ?> <? N(event_id) ?> {}",),
    "syncall": ("<? ~( %workspace <? , %used:index ?> : T(workspace) ) ?> {}",),
    "signal": (_SIGNAL, "%signal , %value {} : ( T(signal) , T(value) )", _SIGNAL),
    "signal_test": (f"{_SIGNAL} -> R", "%signal , %value {} : ( T(signal) , T(value) ) -> R", f"{_SIGNAL} -> R"),
    "make_group": ("%members* {} : ( T(members) ) -> R:group",),
    "dcci": ("<? ~( %ptr : T(ptr) ) ?> {}",),
    "mem_bar": ("N(kind) {}",),
    "set_ffts": ("%base {} : T(base)",),
    "frontend_pipe": (_FRONTEND_PIPE,),
    "frontend_push": (f"~( %tile : T(tile) ) {_SPLIT}",),
    "frontend_pop": (f"<? ~( %valid_row:index , %valid_col:index ) ?> {_SPLIT} -> R",),
    "frontend_free": (_SPLIT,),
    "reserve_buffer": (
        "{ name = N(name) , size = N(size) , location = A(location) , auto = N(auto) <? , base = N(base) ?> } -> R",
    ),
    "import_reserved_buffer": ("{ name = N(name) , peer_func = N(peer_func) } -> R",),
    "initialize_l2g2l_pipe": (
        "{ dir_mask = N(dir_mask) , slot_size = N(slot_size) , slot_num = N(slot_num) "
        "<? , local_slot_num = N(local_slot_num) ?> <? , flag_base = N(flag_base) ?> <? , nosplit = N(nosplit) ?> } "
        "( %gm : T(gm) , %local : T(local) <? , %peer : T(peer) ?> ) -> R",
    ),
    "initialize_l2l_pipe": (
        "{ dir_mask = N(dir_mask) , slot_size = N(slot_size) , slot_num = N(slot_num) "
        "<? , flag_base = N(flag_base) ?> <? , nosplit = N(nosplit) ?> } "
        "( %local : T(local) <? , %peer : T(peer) ?> ) -> R",
    ),
    "pipe_move": (f"~( %tile , %pipe : T(tile) , T(pipe) ) {_SPLIT}",),
    "pipe_free": (f"~( %pipe : T(pipe) ) {_SPLIT}",),
    "build_async_session": ("~( %scratch , %workspace : T(scratch) , T(workspace) ) {} -> R",),
    "async_transfer": ("~( %dst , %src , %session : T(dst) , T(src) , T(session) ) {} -> R",),
    "async_wait": ("~( %event , %session : T(event) , T(session) ) {} -> R",),
}
"""By text name or `syntax` word of the instruction; of several forms the first is printed."""
