"""The catalogue of the sanitizer (memory-model-and-sync 10): what it finds by watching a run."""

from __future__ import annotations

from functools import partial

from ptokit.diagnostics import Scope, Severity, define

_rule = partial(define, scope=Scope.SYNC)
_warning = partial(_rule, severity=Severity.WARNING)
_WHERE = "memory-model-and-sync 7, 10"

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
        rejected="two instructions on different pipes and common bytes, without set_flag and wait_flag between them",
        accepted="set_flag(p, q, id) after the first, wait_flag(p, q, id) before the second",
    )
    _rule(
        f"RACE-XCORE-{_kind}",
        f"Where one core {_first} memory that a later core {_second}, a flag between cores orders the two.",
        why="Cores run in any order and at the same time; only the end of the launch orders them.",
        source=_WHERE,
        decision="Blocks count by index, in a cluster the cube core before the vector ones; equal atomic updates "
        "do not race.",
        rejected="two blocks that store the same row",
        accepted="rows of its own for each block, or atomic stores of one kind",
    )
    _rule(
        f"RACE-XRANK-{_kind}",
        f"Where one device {_first} memory that another one {_second}, a signal orders the two: TNOTIFY after "
        "the first, TWAIT before the second.",
        why="Devices run at the same time. A notification says nothing of what other pipes of its core still do, or a "
        "transfer engine, unless the core has waited for that.",
        source="memory-model-and-sync 5.5, 6; pto-isa docs/isa/comm TNOTIFY, TWAIT, TPUT_ASYNC; include/pto/comm",
        decision="Ranks count by number; equal atomic updates do not race.",
        rejected="TSTORE to another rank's memory and TNOTIFY, without a barrier or a flag from PIPE_MTE3 between them",
        accepted="TSTORE, pipe_barrier(PIPE_ALL), TNOTIFY; on the other rank TWAIT, then TLOAD",
    )
_warning(
    "RACE-INTRAPIPE",
    "In profile order, conflicting instructions of one pipe have a barrier or a flag round trip between them.",
    why="Some pipes may complete instructions out of order (memory-model-and-sync 6.1).",
    source="memory-model-and-sync 6.1, 11.3",
    rejected="two TLOADs into the same tile, --order profile",
    accepted="pipe_barrier(PIPE_MTE2) between them",
)
_rule(
    "RACE-SELF",
    "Source and destination of one instruction are the same elements, or share no bytes.",
    why="The instruction reads some of its own results.",
    source="memory-model-and-sync 4 (c), 10",
    decision="The same address with the same layout counts as in place, which is allowed; so do rows of at most 256 "
    "bytes that are written over themselves or over rows read before.",
    rejected="TADD whose destination lies 32 bytes behind a source",
    accepted="TADD(a, a, b)",
)
_rule(
    "SCATTER-ALIAS",
    "A plain scatter writes every element once.",
    why="Where two writers meet, which one stays depends on the target, or on nothing at all.",
    source="memory-model-and-sync 10; move-gather-scatter 11.3",
    decision="An error where the winner is not specified (conflict=Default on a5, different values), else a note.",
    rejected="MSCATTER with conflict=Default and two equal indices on a5",
    accepted="distinct indices, or an atomic operation",
)
_rule(
    "UNINIT-READ",
    "What an instruction reads has been written.",
    why="On-chip memory holds anything at the start; simulators that clear it hide this.",
    source="memory-model-and-sync 8, 10",
    rejected="TADD whose destination has a larger valid region than what was loaded into a source",
    accepted="equal valid regions, or a fill before",
)
_warning(
    "GM-UNWRITTEN",
    "An output of which a launch writes some elements is written as a whole.",
    why="What is left holds anything: too few blocks were launched, or a loop or a view is too short.",
    source="derived: every store of every block is followed",
    decision="Looked at for arguments that are given as uninit and that the launch does not read, where it finds "
    "nothing else.",
    rejected="16 rows of an output of 64 rows stored, by one block of a kernel whose block index decides the rows",
    accepted="the same kernel on 4 blocks",
)
_warning(
    "PAD-READ",
    "Results inside the valid region do not depend on padding.",
    source="memory-model-and-sync 8, 10",
    rejected="TADD over 16 columns of a tile with 10 valid columns that TLOAD has padded",
    accepted="TADD over the 10 valid columns",
)
_warning(
    "STALE-READ",
    "Bytes are read through the tile, or an alias of it, that wrote them.",
    why="Another tile type at the same address sees them in another layout.",
    source="memory-model-and-sync 4 (b), 10",
    decision="Reported where the two tiles see other elements or another order. Of equal types UB-OVERLAP reports lost "
    "values; a 16x1 column read as a row of 16 elements is a reshape that nobody had to write down. So are rows "
    "of a tile, and boxes with rows and columns exchanged.",
    rejected="reading an f16 tile at the address where an f32 tile was written",
    accepted="treshape or bitcast of the tile that was written",
)
_rule(
    "UNBOUND-TILE",
    "In a program that places tiles by address, a tile has one before it is used.",
    source="memory-model-and-sync 4, 8, 10",
    rejected="TLOAD into a tile without TASSIGN, beside tiles with addresses",
    accepted="TASSIGN(tile, 0x1000) first",
)
_warning(
    "UB-OVERLAP",
    "A value is not overwritten through another tile before its last read.",
    why="The two tiles share bytes; the later read gets the other tile's data.",
    decision="A tile written over exactly the elements of another one, whose value has been read, may be its next "
    "value under another name: reported once it is used as its own. Bytes that are written by address are anybody's.",
    source="memory-model-and-sync 10, 11.6",
    rejected="two tiles at one address, both loaded, then both read",
    accepted="the first is read for the last time before the second is loaded",
)
_warning(
    "UB-RESERVED",
    "Tiles stay out of the bytes that library code uses: UB 184..192 KiB on a2a3, beyond 216 KiB on a5 beside "
    "gathers and scatters that run as SIMT.",
    source="memory-model-and-sync 3, 10",
    rejected="a Vec tile at 0x2E000 on a2a3",
    accepted="a Vec tile that ends at 0x2E000",
)
_rule(
    "FLAG-UNMATCHED",
    "Every flag that is set is waited for before the kernel ends.",
    why="The next kernel on the core finds the flag set.",
    source="memory-model-and-sync 5.3, 10",
    decision="Not reported for a flag with FLAG-REUSE, nor on a core that is stuck or has failed.",
    rejected="a loop whose last set_flag is never consumed",
    accepted="wait_flag after the loop",
)
_rule(
    "UNIT-FLAG-LEFT",
    "Every unit flag that a product sets is cleared by a drain before the kernel ends.",
    severity=Severity.WARNING,
    why="The next product with a unit flag waits for it: that of another kernel, too, if nothing resets it.",
    source="PTOAS e32488c9, micro-isa 16",
    decision="A warning: kernels of the assembler's own suite end so.",
    rejected="mad unit_flag(check_and_set), then a drain with unit_flag(check_only)",
    accepted="a last drain with unit_flag(check_and_clear)",
)
_rule(
    "FLAG-REUSE",
    "Between two sets of one flag there is a wait, in program order.",
    why="A flag is one bit: one of the two sets is lost.",
    source="memory-model-and-sync 5.3, 10",
    decision="Public texts disagree on whether flags count; nothing documents that they do (M6).",
    rejected="set_flag, set_flag, wait_flag, wait_flag on one id",
    accepted="another event id for the second",
)
_warning(
    "FLAG-REUSE-RACE",
    "A flag is not set again before the wait for its last set has happened.",
    why="The source pipe may run ahead of the destination; if flags neither queue nor count, a set is lost.",
    source="memory-model-and-sync 5.3, 11.7",
    decision="Off by default (--also FLAG-REUSE-RACE): kernels do it, and no public text says that it is wrong.",
    rejected="a loop that sets and waits for one flag, without a flag the other way round",
    accepted="the same with a flag back",
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
    rejected="set_flag(PIPE_MTE3, PIPE_V, 0) and set_flag(PIPE_MTE3, PIPE_MTE2, 0) before either wait, on a2a3",
    accepted="different ids",
)
_rule(
    "AUTO-RULE",
    "An Auto-mode program has no raw flags and barriers, no two tiles at one address, and no alias with two sources.",
    why="The compiler places tiles and orders pipes; what the program adds contradicts it.",
    source="memory-model-and-sync 4, 10",
    decision="Checked with --mode auto; without it a program with flags or addresses counts as manual.",
    rejected="set_flag in a program sanitized with --mode auto",
    accepted="the program without flags",
)
_rule(
    "FLAG-ORDER",
    "A wait of the scalar unit comes after a set that can satisfy it.",
    why="The scalar unit issues everything: while it waits, no later set is issued.",
    source="memory-model-and-sync 5.3, 10",
    rejected="wait_flag(PIPE_MTE2, PIPE_S, 0) before its set_flag",
    accepted="set_flag(PIPE_MTE2, PIPE_S, 0) before the wait",
)
_rule(
    "SYNCALL-MISMATCH",
    "All cores that a SYNCALL joins call it equally often, for the same cores.",
    why="Those that have arrived wait for ever.",
    source="memory-model-and-sync 5.5, 10",
    decision="Reported instead of DEADLOCK if the missing cores have ended or wait in a SYNCALL of other cores.",
    rejected="SYNCALL in block 0 only",
    accepted="SYNCALL on every core",
)
_rule(
    "ASYNC-RACE",
    "Data of an asynchronous transfer is not touched before its event has been waited for.",
    why="An engine beside the pipes moves it.",
    source="memory-model-and-sync 5.5, 10",
    decision="Reads count too, also of data that is only prefetched.",
    rejected="TLOAD of a tensor after TPREFETCH_ASYNC",
    accepted="event.wait(ctx.session), then TLOAD",
)
_warning(
    "ASYNC-UNWAITED",
    "Every asynchronous transfer to or from another device is waited for before the kernel ends.",
    why="The engine goes on by itself: whoever uses the data after the launch may find the old ones.",
    source="memory-model-and-sync 5.5; pto-isa docs/isa/comm TPUT_ASYNC",
    rejected="pto.comm.tput_async without pto.comm.wait_async_event",
    accepted="one pto.comm.wait_async_event of the last transfer of each session",
)
_warning(
    "CACHE-STALE",
    "Scalar loads and stores of global memory that another core reads or writes go past the cache: dcci and dsb.",
    why="The scalar unit caches lines of 64 bytes that no other core sees or refreshes.",
    source="memory-model-and-sync 6.2, 11.9",
    decision="Looked at between cores; whether the pipes of one core see its scalar cache is not documented.",
    rejected="store_scalar, SYNCALL, TLOAD of the element on another core",
    accepted="store_scalar, dcci, dsb, SYNCALL, TLOAD",
)
_rule(
    "BUF-PROTOCOL",
    "A pipe takes a buffer token it does not hold, and gives back one that it does.",
    source="memory-model-and-sync 5.4, 10",
    decision="The offending operation is ignored.",
    rejected="get_buf twice without rls_buf",
    accepted="get_buf, work, rls_buf",
)
_rule(
    "XFLAG-OVERFLOW",
    "A flag between cores counts to 15 at most.",
    source="memory-model-and-sync 5.5, 10",
    rejected="16 sync.set before the first sync.wait",
    accepted="a sync.wait for every sync.set",
)
_rule(
    "XFLAG-UNMATCHED",
    "Every count of a flag between cores is consumed before the kernel ends.",
    source="memory-model-and-sync 5.5, 10",
    rejected="sync.set without sync.wait on the receiving core",
    accepted="as many waits as signals on every receiving core",
)
_rule(
    "PIPE-LEFT",
    "What is pushed into a pipe between cores is popped before the kernel ends.",
    why="The flags of what is left stay raised, and the next kernel takes them for its own.",
    source="compute-layout-irregular 3.2 (PIPE-COM-05)",
    rejected="tpush_to_aiv in a loop of 5 turns, tpop_from_aic in one of 4",
    accepted="as many pops as pushes",
)
_rule(
    "PIPE-FREED",
    "A tile that was popped from a pipe is read before its slot is freed.",
    why="The producer may fill the slot again while it is read.",
    source="compute-layout-irregular 3.2 (PIPE-A5-02)",
    decision="Found whether or not the producer comes round to the slot in this run.",
    rejected="tpop_from_aic, tfree_from_aic, tadd of the tile, on a5",
    accepted="tpop_from_aic, tadd of the tile, tfree_from_aic",
)
_rule(
    "RACE-THREADS",
    "Threads of a launch that access the same bytes, one of them writing, meet at a syncthreads between, or update "
    "them atomically.",
    source="PTOAS e32488c9, micro-isa 17",
    decision="Threads that store one value to one place in the same operation do not race.",
    rejected="every thread stores its number to element 0",
    accepted="store to the own element, syncthreads, load that of a neighbour",
)
_rule(
    "RACE-WARP",
    "The same for two threads of a warp, which execute operations together.",
    severity=Severity.WARNING,
    source="PTOAS e32488c9, micro-isa 17",
    why="No public document says whether operations of a warp are ordered in memory.",
    rejected="store to the own element, load that of the next lane",
    accepted="store to the own element, syncthreads, load that of the next lane",
)
_rule(
    "EVENT-ORDER",
    "An event is recorded before it is waited for.",
    source="memory-model-and-sync 5.1, 10",
    rejected="Event(…).Wait() without Record()",
    accepted="Record() after the producer, Wait() before the consumer",
)
_rule(
    "EVENT-PIPE",
    "An Event records an instruction of its source pipe and is waited for by one of its destination pipe.",
    source="memory-model-and-sync 5.1, 10",
    rejected='Event("TLOAD", "TADD") recorded by TADD',
    accepted='Event("TLOAD", "TADD") recorded by TLOAD',
)
_rule(
    "EVENT-XCORE",
    "Events between cores have an explicit id.",
    source="memory-model-and-sync 5.1, 10",
    rejected='Event("TMOV_A2V", "TADD") with an automatic id',
    accepted="sync.set and sync.wait",
)

_syn = partial(_rule, source="vector-path 7, 8")
_syn(
    "SYN-A5-01",
    "Vector instructions and copies on different pipes that touch common bytes are ordered by a flag, a barrier or a "
    "token.",
    decision="Reported as RACE-RAW, RACE-WAR or RACE-WAW, with the flag that mends it.",
    rejected="vlds before the wait for the copy that fills the buffer",
    accepted="set_flag(MTE2, V) behind the copy, wait_flag(MTE2, V) before vlds",
)
_syn(
    "SYN-A5-02",
    "Every wait is satisfied, in the direction of its flag.",
    decision="Reported as DEADLOCK or FLAG-ORDER.",
    rejected="wait_flag(MTE2, V) behind set_flag(V, MTE2)",
    accepted="one set_flag for every wait_flag of the same pipes and id",
)
_syn(
    "SYN-A5-03",
    "Between two sets of one flag there is a wait.",
    decision="Reported as FLAG-REUSE.",
    rejected="set_flag twice, then wait_flag",
    accepted="set_flag, wait_flag, set_flag, wait_flag",
)
_syn(
    "SYN-A5-04",
    "Pipes and event ids exist.",
    decision="Reported as FLAG-PIPE, FLAG-RANGE or TY-8.",
    rejected="EVENT_ID99",
    accepted="EVENT_ID0",
)
_syn(
    "SYN-A5-05",
    "Inside a vector scope a mem_bar of a fitting kind stands between a store and a load of common bytes, in either "
    "order, and between a vector and a scalar store.",
    decision="A store whose value comes from the load needs none; stores of one unit to common bytes keep their order.",
    rejected="vsts to %p, then vlds of %p",
    accepted='vsts to %p, pto.mem_bar "VST_VLD", vlds of %p',
)
_syn(
    "SYN-A5-06",
    "Between two copies of one pipe that write common bytes there is a pipe barrier.",
    decision="Reported as RACE-INTRAPIPE, in profile order.",
    rejected="two MTE3 copies to one place of global memory",
    accepted="pipe_barrier(MTE3) between them",
)
_syn(
    "SYN-A5-07",
    "A pipe takes a buffer token it does not hold; ids are 0 to 31.",
    decision="Reported as BUF-PROTOCOL or BF-1.",
    rejected="get_buf twice without rls_buf",
    accepted="get_buf, work, rls_buf",
)
