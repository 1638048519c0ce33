"""The catalogue of the sanitizer (memory-model-and-sync 10): what it finds by watching a run."""

from __future__ import annotations

from functools import partial

from ptokit.diagnostics import Scope, Severity, define

_rule = partial(define, scope=Scope.SYNC)
_warning = partial(_rule, severity=Severity.WARNING)
_WHERE = "memory-model-and-sync 7, 10"

_TILE = "x: Ptr[f32]; t = Tile(Vec, f32, 16, 32); g = GlobalTensor(x, (16, 32)); "
_LOADED = "{set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0); wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0)|pipe_barrier(PIPE_MTE2)}; "
_FILL = "TEXPANDS(t, 1.0); set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0); wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0); "
_STORED = "{set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0); wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0)|pipe_barrier(PIPE_V)}; "
_PIPES = {
    "RAW": f"{_TILE}TLOAD(t, g); {_LOADED}TADDS(t, t, 1.0)",
    "WAR": f"{_TILE}{_FILL}TSTORE(g, t); {_STORED}TEXPANDS(t, 2.0)",
    "WAW": f"{_TILE}TLOAD(t, g); {_LOADED}TEXPANDS(t, 1.0)",
}
_BLOCKS = """
    # ptokit sanitize --blocks 2
    x: Ptr[f32]; t = Tile(Vec, f32, 16, 32); g = GlobalTensor(x, (16, 32))
    if get_block_idx() == 0:
        FIRST
    {SYNCALL(SyncAllMode.Hard)|}
    if get_block_idx() == 1:
        SECOND
"""
_RANKS = """
    # ptokit sanitize --ranks 2 --arg zeros:f32:2x512 --arg peer:x:+1 --arg zeros:i32:2x1 --arg peer:box:+1 --arg rank
    x: Ptr[f32]; next_x: Ptr[f32]; box: Ptr[i32]; next_box: Ptr[i32]; rank: int
    t = Tile(Vec, f32, 16, 32); g = GlobalTensor(x, (16, 32))
    if rank == 0:
        FIRST
        {pipe_barrier(PIPE_ALL)|}
        TNOTIFY(GlobalTensor(next_box, (1, 1)), 1)
    else:
        TWAIT(GlobalTensor(box, (1, 1)), 1)
        SECOND
"""


def _between(program: str, kind: str, view: str = "g") -> str:
    """A program of two cores that store and load in the order of a race of this kind; the first one through `view`."""
    store = _FILL.replace("; ", "\n        ") + "TSTORE({}, t)"
    read, write = "TLOAD(t, {})", store
    first, second = {"RAW": (write, read), "WAR": (read, write), "WAW": (write, write)}[kind]
    return program.replace("FIRST", first.format(view)).replace("SECOND", second.format("g"))


for _kind, _first, _second, _fix in (
    ("RAW", "writes", "reads", "the reader sees old, new or torn data"),
    ("WAR", "reads", "overwrites", "the reader sees data that was to come later"),
    ("WAW", "writes", "overwrites", "either write may land last"),
):
    _rule(
        f"RACE-{_kind}",
        f"Where one pipe {_first} bytes that another pipe of the core {_second} later in the program, "
        "a flag or barrier orders the two.",
        why=f"Pipes run side by side: {_fix}.",
        source=_WHERE,
        example=_PIPES[_kind],
    )
    _rule(
        f"RACE-XCORE-{_kind}",
        f"Where one core {_first} memory that a later core {_second}, a flag between cores orders the two.",
        why="Cores run in any order and at the same time; only the end of the launch orders them.",
        source=_WHERE,
        decision="Blocks count by index, in a cluster the cube core before the vector ones; equal atomic updates "
        "do not race.",
        example=_between(_BLOCKS, _kind),
    )
    _rule(
        f"RACE-XRANK-{_kind}",
        f"Where one device {_first} memory that another one {_second}, a signal orders the two: TNOTIFY after "
        "the first, TWAIT before the second.",
        why="Devices run at the same time. A notification says nothing of what other pipes of its core still do, or a "
        "transfer engine, unless the core has waited for that.",
        source="memory-model-and-sync 5.5, 6; pto-isa docs/isa/comm TNOTIFY, TWAIT, TPUT_ASYNC; include/pto/comm",
        decision="Ranks count by number; equal atomic updates do not race.",
        example=_between(_RANKS, _kind, "GlobalTensor(next_x, (16, 32))"),
    )
_warning(
    "RACE-INTRAPIPE",
    "In profile order, conflicting instructions of one pipe have a barrier or a flag round trip between them.",
    why="Some pipes may complete instructions out of order (memory-model-and-sync 6.1).",
    source="memory-model-and-sync 6.1, 11.3",
    example="# ptokit sanitize --order profile; t = Tile(Vec, f32, 16, 32, addr=0); "
    "u = Tile(Vec, f32, 16, 32, addr=2048); TEXPANDS(t, 1.0); {pipe_barrier(PIPE_V); |}TADDS(u, t, 1.0)",
    on="a2a3",
)
_rule(
    "RACE-SELF",
    "Source and destination of one instruction are the same elements, or share no bytes.",
    why="The instruction reads some of its own results.",
    source="memory-model-and-sync 4 (c), 10",
    decision="The same address with the same layout counts as in place, which is allowed; so do rows of at most 256 "
    "bytes that are written over themselves or over rows read before.",
    example="t = Tile(Vec, f32, 1, 256, addr=0); TEXPANDS(t, 1.0); TADDS(Tile(Vec, f32, 1, 256, addr={0|32}), t, 1.0)",
)
_rule(
    "SCATTER-ALIAS",
    "A plain scatter writes every element once.",
    why="Where two writers meet, which one stays depends on the target, or on nothing at all.",
    source="memory-model-and-sync 10; move-gather-scatter 11.3",
    decision="An error where the winner is not specified (conflict=Default on a5, different values), else a note.",
    example="""
        # ptokit sanitize --arg zeros:f32:40x16 --arg {arange|zeros}:i32:1x16
        x: Ptr[f32]
        at: Ptr[i32]
        t = Tile(Vec, f32, 1, 16)
        i = Tile(Vec, i32, 1, 16)
        TLOAD(i, GlobalTensor(at, (1, 16)))
        TLOAD(t, GlobalTensor(x, (1, 16)))
        pipe_barrier(PIPE_ALL)
        MSCATTER(GlobalTensor(x, (40, 16)), t, i, mode=Coalesce.Elem)
    """,
)
_rule(
    "UNINIT-READ",
    "What an instruction reads has been written.",
    why="On-chip memory holds anything at the start; simulators that clear it hide this.",
    source="memory-model-and-sync 8, 10",
    example="t = Tile(Vec, f32, 16, 32); u = Tile(Vec, f32, 16, 32); {TEXPANDS(t, 1.0); |}TADDS(u, t, 1.0)",
)
_warning(
    "GM-UNWRITTEN",
    "A launch that writes some elements of an output writes all of it.",
    why="What is left holds anything: too few blocks were launched, or a loop or a view is too short.",
    source="derived: every store of every block is followed",
    decision="Looked at for arguments that are given as uninit and that the launch does not read, where it finds "
    "nothing else.",
    example="""
        # ptokit sanitize --arg uninit:f32:64x32 --blocks {4|1}
        y: Ptr[f32]
        t = Tile(Vec, f32, 16, 32)
        top = get_block_idx() * 16
        TEXPANDS(t, 1.0)
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0)
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0)
        TSTORE(GlobalTensor(y, (64, 32))[top : top + 16], t)
    """,
)
_warning(
    "PAD-READ",
    "Results inside the valid region do not depend on padding.",
    source="memory-model-and-sync 8, 10",
    example="x: Ptr[f32]; t = Tile(Vec, f32, 1, 16, valid_col=10, pad=PadValue.Zero); "
    "u = Tile(Vec, f32, 1, 16, valid_col={10|16}); TLOAD(t, GlobalTensor(x, (1, 10))); "
    "set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0); wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0); TADDS(u, t, 1.0)",
)
_warning(
    "STALE-READ",
    "Bytes are read through the tile, or an alias of it, that wrote them.",
    why="Another tile type at the same address sees them in another layout.",
    source="memory-model-and-sync 4 (b), 10",
    decision="Reported where the two tiles see other elements or another order. Of equal types UB-OVERLAP reports lost "
    "values; a 16x1 column read as a row of 16 elements is a reshape that nobody had to write down. So are rows "
    "of a tile, and boxes with rows and columns exchanged.",
    example="t = Tile(Vec, f32, 16, 32, addr=0); u = Tile(Vec, f16, 16, {32|64}, addr={2048|0}); TEXPANDS(t, 1.0); "
    "{TEXPANDS(u, 1.0); |}TADDS(u, u, 1.0)",
)
_rule(
    "UNBOUND-TILE",
    "In a program that places tiles by address, a tile has one before it is used.",
    source="memory-model-and-sync 4, 8, 10",
    example="t = Tile(Vec, f32, 16, 32, addr=0); u = Tile(Vec, f32, 16, 32{, addr=2048|}); TEXPANDS(t, 1.0); "
    "TADDS(u, t, 1.0)",
)
_warning(
    "UB-OVERLAP",
    "A value is not overwritten through another tile before its last read.",
    why="The two tiles share bytes; the later read gets the other tile's data.",
    decision="A tile written over exactly the elements of another one, whose value has been read, may be its next "
    "value under another name: reported once it is used as its own. Bytes that are written by address are anybody's.",
    source="memory-model-and-sync 10, 11.6",
    example="t = Tile(Vec, f32, 16, 32, addr=0); u = Tile(Vec, f32, 16, 32, addr={2048|0}); TEXPANDS(t, 1.0); "
    "TEXPANDS(u, 2.0); TADD(u, t, u)",
)
_warning(
    "UB-RESERVED",
    "Tiles stay out of the bytes that library code uses: UB 184..192 KiB on a2a3, beyond 216 KiB on a5 beside "
    "gathers and scatters that run as SIMT.",
    source="memory-model-and-sync 3, 10",
    example="t = Tile(Vec, f32, 16, 32, addr={0x2D800|0x2E000}); TEXPANDS(t, 1.0)",
    on="a2a3",
)
_rule(
    "FLAG-UNMATCHED",
    "Every flag that is set is waited for before the kernel ends.",
    why="The next kernel on the core finds the flag set.",
    source="memory-model-and-sync 5.3, 10",
    decision="Not reported for a flag with FLAG-REUSE, nor on a core that is stuck or has failed.",
    example="set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0){; wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0)|}",
)
_rule(
    "FLAG-REUSE",
    "Between two sets of one flag there is a wait, in program order.",
    why="A flag is one bit: one of the two sets is lost.",
    source="memory-model-and-sync 5.3, 10; CANN 8.5 API reference, SetFlag/WaitFlag",
    decision="Public texts disagree on whether flags count; CANN's manual calls one a bit, which a wait clears (M6).",
    example="set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0); set_flag(PIPE_MTE2, PIPE_V, EVENT_ID{1|0}); "
    "wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0); wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID{1|0})",
)
_warning(
    "FLAG-REUSE-RACE",
    "A flag is not set again before the wait for its last set has happened.",
    why="The source pipe may run ahead of the destination; if flags neither queue nor count, a set is lost.",
    source="memory-model-and-sync 5.3, 11.7; CANN 8.5 API reference, SetFlag/WaitFlag",
    decision="Off by default (--also FLAG-REUSE-RACE), since published kernels do it; `ptokit sync` does not. By CANN's"
    " manual a set makes a bit 1, and a wait makes it 0.",
    example="""
        # ptokit sanitize --also FLAG-REUSE-RACE
        for i in range(4):
            set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0)
            wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0){
            set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0)
            wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0)|}
    """,
)
_warning(
    "FLAG-ALIAS",
    "An event id is not set for two destinations of one source pipe at once.",
    why="Of two kernels that the assembler wrote for a2a3 and that differ in ids only, the one with PIPE_MTE3 to "
    "PIPE_V and, nested in it, PIPE_MTE3 to PIPE_MTE2 on one id hung 5 times of 5 (PTOAS issue 823).",
    source="memory-model-and-sync 6, 10; PTOAS issue 823",
    decision="Reported for PIPE_MTE3 on a2a3. For other pipes and targets off (--also FLAG-ALIAS): by the public "
    "contract the two are different flags, and kernels of the vendor's library for a2a3 share ids of PIPE_V, PIPE_M "
    "and PIPE_MTE1.",
    example="set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0); set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID{1|0}); "
    "wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID{1|0}); wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0)",
    on="a2a3",
)
_rule(
    "AUTO-RULE",
    "An Auto-mode program has no raw flags and barriers, no two tiles at one address, and no alias with two sources.",
    why="The compiler places tiles and orders pipes; what the program adds contradicts it.",
    source="memory-model-and-sync 4, 10",
    decision="Checked with --mode auto; without it a program with flags or addresses counts as manual.",
    example="# ptokit sanitize --mode auto; t = Tile(Vec, f32, 16, 32); TEXPANDS(t, 1.0){|; pipe_barrier(PIPE_ALL)}",
)
_rule(
    "FLAG-ORDER",
    "A wait of the scalar unit comes after a set that can satisfy it.",
    why="The scalar unit issues everything: while it waits, no later set is issued.",
    source="memory-model-and-sync 5.3, 10",
    example="{set_flag(PIPE_MTE2, PIPE_S, EVENT_ID0); "
    "wait_flag(PIPE_MTE2, PIPE_S, EVENT_ID0)|wait_flag(PIPE_MTE2, PIPE_S, EVENT_ID0); "
    "set_flag(PIPE_MTE2, PIPE_S, EVENT_ID0)}",
)
_rule(
    "SYNCALL-MISMATCH",
    "All cores that a SYNCALL joins call it equally often, for the same cores.",
    why="Those that have arrived wait for ever.",
    source="memory-model-and-sync 5.5, 10",
    decision="Reported instead of DEADLOCK if the missing cores have ended or wait in a SYNCALL of other cores.",
    example="""
        # ptokit sanitize --blocks 2
        if get_block_idx() == {get_block_idx()|0}:
            SYNCALL(SyncAllMode.Hard)
    """,
)
_rule(
    "ASYNC-RACE",
    "Data of an asynchronous transfer is not touched before its event has been waited for.",
    why="An engine beside the pipes moves it.",
    source="memory-model-and-sync 5.5, 10",
    decision="Reads count too, also of data that is only prefetched.",
    example="""
        x: Ptr[f32]
        w: Ptr[u8]
        g = GlobalTensor(x, (1, 1024))
        ctx = PrefetchAsyncContext(w)
        event = TPREFETCH_ASYNC(g, ctx)
        {event.wait(ctx.session)
        |}TLOAD(Tile(Vec, f32, 1, 1024), g)
    """,
)
_warning(
    "ASYNC-UNWAITED",
    "Every asynchronous transfer to or from another device is waited for before the kernel ends.",
    why="The engine goes on by itself: whoever uses the data after the launch may find the old ones.",
    source="memory-model-and-sync 5.5; pto-isa docs/isa/comm TPUT_ASYNC",
    example="""
        func.func @f(%a: !pto.partition_tensor_view<128xf32>, %b: !pto.partition_tensor_view<128xf32>,
          %w: !pto.ptr<i8>) {
          %t = pto.alloc_tile : !pto.tile_buf<vec, 1x256xi8>
          %s = pto.comm.build_async_session(%t, %w : !pto.tile_buf<vec, 1x256xi8>, !pto.ptr<i8>) -> !pto.async_session
          %e = pto.comm.tput_async(%a, %b, %s : !pto.partition_tensor_view<128xf32>,
            !pto.partition_tensor_view<128xf32>, !pto.async_session) -> !pto.async_event
          {%d = pto.comm.wait_async_event(%e, %s : !pto.async_event, !pto.async_session) -> i1
          |}return
        }
    """,
)
_warning(
    "CACHE-STALE",
    "Scalar loads and stores of global memory that another core reads or writes go past the cache: dcci and dsb.",
    why="The scalar unit caches lines of 64 bytes that no other core sees or refreshes.",
    source="memory-model-and-sync 6.2, 11.9",
    decision="Looked at between cores; whether the pipes of one core see its scalar cache is not documented.",
    example="""
        # ptokit sanitize --blocks 2
        x: Ptr[f32]
        if get_block_idx() == 0:
            x[0] = 1.0{
            dcci(x)
            dsb()|}
        SYNCALL(SyncAllMode.Hard)
        if get_block_idx() == 1:
            TLOAD(Tile(Vec, f32, 1, 16), GlobalTensor(x, (1, 16)))
    """,
)
_rule(
    "BUF-PROTOCOL",
    "A pipe takes a buffer token it does not hold, and gives back one that it does.",
    source="memory-model-and-sync 5.4, 10",
    decision="The offending operation is ignored.",
    example='get_buf("PIPE_V", 0){; rls_buf("PIPE_V", 0)|}; get_buf("PIPE_V", 0); rls_buf("PIPE_V", 0)',
)
_rule(
    "XFLAG-OVERFLOW",
    "A flag between cores counts to 15 at most.",
    source="memory-model-and-sync 5.5, 10",
    example="""
        with cube_section():
            for i in range({8|16}):
                sync.set(PIPE_FIX, 3)
        with vector_section():
            for i in range({8|16}):
                sync.wait(PIPE_V, 3)
    """,
    on="a2a3",
)
_rule(
    "XFLAG-UNMATCHED",
    "Every count of a flag between cores is consumed before the kernel ends.",
    source="memory-model-and-sync 5.5, 10",
    example="""
        with cube_section():
            sync.set(PIPE_FIX, 3)
        with vector_section():
            {sync.wait(PIPE_V, 3)|pass}
    """,
    on="a2a3",
)
_PUSHED = """
        pipe = TPipe(0, Direction.DIR_V2C, 512, 2, v2c_consumer_buf=0)
        with vector_section():
            t = Tile(Vec, f16, 16, 16, addr=0)
            u = Tile(Vec, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor, addr=1024)
            TEXPANDS(t, 1.0)
            TMOV(u, t)
            set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0)
            wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0)
            TPUSH(pipe, u)"""
_rule(
    "PIPE-LEFT",
    "What is pushed into a pipe between cores is popped before the kernel ends.",
    why="The flags of what is left stay raised, and the next kernel takes them for its own.",
    source="compute-layout-irregular 3.2 (PIPE-COM-05)",
    example=_PUSHED
    + """
        with cube_section():
            {TPOP(pipe, Tile(Mat, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor))
            TFREE(pipe)|pass}
    """,
)
_warning(
    "PIPE-RING",
    "Tiles lie outside of the slots of pipes, but for those that are popped.",
    why="The producer writes the slots whenever they are free.",
    source="compute-layout-irregular 3.2",
    decision="A warning: what the producer does meanwhile shows as a race.",
    example="""
        x: Ptr[f16]
        pipe = TPipe(0, Direction.DIR_V2C, 512, 2, v2c_consumer_buf=0)
        with cube_section():
            n = Tile(Mat, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor, addr={1024|512})
            TLOAD(n, GlobalTensor(x, (16, 16)))
    """,
)
_rule(
    "PIPE-FREED",
    "A tile that was popped from a pipe is read before its slot is freed.",
    why="The producer may fill the slot again while it is read.",
    source="compute-layout-irregular 3.2 (PIPE-A5-02)",
    decision="Found whether or not the producer comes round to the slot in this run.",
    example=_PUSHED
    + """
        with cube_section():
            m = Tile(Mat, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor)
            TPOP(pipe, m)
            {TMOV(TileLeft(f16, 16, 16, addr=0), m)
            TFREE(pipe)|TFREE(pipe)
            TMOV(TileLeft(f16, 16, 16, addr=0), m)}
    """,
)
_THREADS = """
        func.func @threads(%x: !pto.ptr<i32, gm>) attributes {pto.simt_entry} {
          %t = pto.get_tid_x : i32
          %i = arith.index_castui %t : i32 to index"""
_LAUNCH = """
          return
        }
        func.func @example(%x: !pto.ptr<i32, gm>) attributes {pto.entry} {
          %n = arith.constant 64 : i32
          %one = arith.constant 1 : i32
          pto.simt_launch @threads<<<%n, %one, %one>>>(%x) : (!pto.ptr<i32, gm>) -> ()
          return
        }
"""
_rule(
    "RACE-THREADS",
    "Threads of a launch that access the same bytes, one of them writing, meet at a syncthreads between, or update "
    "them atomically.",
    source="PTOAS e32488c9, micro-isa 17",
    decision="Threads that store one value to one place in the same operation do not race.",
    example=_THREADS
    + """
          %half = arith.constant 32 : index
          %at = arith.remui %i, %half : index
          pto.store %t, %x[{%i|%at}] : !pto.ptr<i32, gm>, i32
    """
    + _LAUNCH,
)
_rule(
    "RACE-WARP",
    "The same for two threads of a warp, which execute operations together.",
    severity=Severity.WARNING,
    source="PTOAS e32488c9, micro-isa 17",
    why="No public document says whether operations of a warp are ordered in memory.",
    example=_THREADS
    + """
          %one = arith.constant 1 : index
          %next = arith.addi %i, %one : index
          pto.store %t, %x[%i] : !pto.ptr<i32, gm>, i32
          {pto.syncthreads
          |}%v = pto.load %x[%next] : !pto.ptr<i32, gm> -> i32
    """
    + _LAUNCH,
)
_rule(
    "EVENT-ORDER",
    "An event is recorded before it is waited for.",
    source="memory-model-and-sync 5.1, 10",
    example='x: Ptr[f32]; t = Tile(Vec, f32, 16, 32); e = Event("TLOAD", "TADD"); '
    "{e.Record(TLOAD(t, GlobalTensor(x, (16, 32)))); |}e.Wait()",
)
_rule(
    "EVENT-PIPE",
    "An Event records an instruction of its source pipe and is waited for by one of its destination pipe.",
    source="memory-model-and-sync 5.1, 10",
    example='x: Ptr[f32]; t = Tile(Vec, f32, 16, 32); e = Event("TLOAD", "TADD"); '
    "e.Record({TLOAD(t, GlobalTensor(x, (16, 32)))|TEXPANDS(t, 1.0)}); e.Wait()",
)
_rule(
    "EVENT-XCORE",
    "Events between cores have an explicit id.",
    source="memory-model-and-sync 5.1, 10",
    example='e = Event("TMOV_A2V", "TADD"{, 3|})',
)

_syn = partial(_rule, source="vector-path 7, 8")
_syn(
    "SYN-A5-01",
    "Vector instructions and copies on different pipes that touch common bytes are ordered by a flag, a barrier or a "
    "token.",
    reported_as="RACE-RAW RACE-WAR RACE-WAW",
)
_syn("SYN-A5-02", "Every wait is satisfied, in the direction of its flag.", reported_as="DEADLOCK FLAG-ORDER")
_syn("SYN-A5-03", "Between two sets of one flag there is a wait.", reported_as="FLAG-REUSE")
_syn("SYN-A5-04", "Pipes and event ids exist.", reported_as="FLAG-PIPE FLAG-RANGE TY-8")
_syn(
    "SYN-A5-05",
    "Inside a vector scope a mem_bar of a fitting kind stands between a store and a load of common bytes, in either "
    "order, and between a vector and a scalar store.",
    decision="A store whose value comes from the load needs none; stores of one unit to common bytes keep their order.",
    example="""
        p = castptr(0, f32)
        with vecscope():
            m = pset_b32("PAT_ALL")
            v = vbr(1.0, dtype=f32)
            vsts(v, p, 64, m){
            mem_bar("VST_VLD")|}
            vsts(vlds(p, 64), p, 128, m)
    """,
)
_syn(
    "SYN-A5-06",
    "Between two copies of one pipe that write common bytes there is a pipe barrier.",
    reported_as="RACE-INTRAPIPE",
)
_syn("SYN-A5-07", "A pipe takes a buffer token it does not hold; ids are 0 to 31.", reported_as="BUF-PROTOCOL BF-1")
