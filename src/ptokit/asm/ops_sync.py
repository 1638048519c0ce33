"""Written forms of synchronisation, core-to-core pipes and asynchronous transfers (assembly 8, 9)."""

from __future__ import annotations

FLAG = "~[ A(src_pipe) , A(dst_pipe) , A(event_id) ] {}"
FLAG_CALL = "( B(src_pipe) , B(dst_pipe) , B(event_id) )"
FLAG_DYN = "~[ A(src_pipe) , A(dst_pipe) , %event:index ] {}"
EVENT = "~[ A!(src_op) , A!(dst_op) , A(event_id) ] {}"
_SIGNAL = "~( %signal , %value : T(signal) , T(value) ) {}"

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
    "sync.set": ("A(pipe) , <? %event ?> <? N(event_id) ?> {}",),
    "sync.wait": ("A(pipe) , <? %event ?> <? N(event_id) ?> {}",),
    "signal": (_SIGNAL, "%signal , %value {} : ( T(signal) , T(value) )", _SIGNAL),
    "signal_test": (f"{_SIGNAL} -> R", "%signal , %value {} : ( T(signal) , T(value) ) -> R", f"{_SIGNAL} -> R"),
    "make_group": ("%members* {} : ( T(members) ) -> R:group",),
    "mem_bar": ("N(kind) {}",),
    "set_ffts": ("%base {} : T(base)",),
}
"""By text name or `syntax` word of the instruction; of several forms the first is printed."""
