"""Programs for a cube core and its vector cores: values, whatever the cores wait for (compute-layout-irregular 4)."""

from __future__ import annotations

import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.diagnostics import Diagnostic, DiagnosticError
from ptokit.run import compile_program
from ptokit.targets import target

from .clusters import MAT, arrays, cluster_text, expand


def run(body: str, on: str = "a2a3", kind: str = "", blocks: int = 1, vector_cores: int = 2) -> list[np.ndarray]:
    """x, w, ws, y afterwards."""
    text, _ = cluster_text(expand(body), kind)
    read = parse_module(text, "k.pto", target=target(on))
    read.diagnostics.raise_if_errors()
    args = arrays()
    compile_program(read.module, target(on), extended=True, vector_cores=vector_cores).launch(args, blocks)
    return args


def product(args: list[np.ndarray]) -> np.ndarray:
    return args[0].astype(np.float64) @ args[1].astype(np.float64)


CUBE_TO_VECTOR = "cube\nproduct\nacc-to-ws\nsignal FIX 0\n{}end\n"
VECTOR = "await MTE2 0\nload-ws\nflag MTE2 V 0\nadd-one\nflag V MTE3 0\nstore-y"


@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
@pytest.mark.parametrize("vector_first", [False, True])
def test_vector_cores_take_the_halves_of_a_product(on: str, vector_first: bool) -> None:
    cube = CUBE_TO_VECTOR.format("signal FIX 16\n" if on == "a5" else "")
    vector = f"vector\n{VECTOR}\nend\n"
    args = run(vector + cube if vector_first else cube + vector, on)
    assert (args[3][:32] == product(args) + 1).all()
    assert (args[3][32:] == -1).all()


def test_operations_outside_sections_run_on_the_cores_that_have_them() -> None:
    args = run(f"product\nacc-to-ws\nsignal FIX 0\n{VECTOR}".replace("await MTE2", "await V"))
    assert (args[3][:32] == product(args) + 1).all()


def test_vector_cores_hand_over_to_the_cube_core() -> None:
    body = (
        "cube\nawait MTE2 1\nproduct\nacc-to-ws\nsignal FIX 0\nend\n"
        "vector\nfill\nflag V MTE3 0\nstore-ws\nsignal MTE3 1\nawait MTE2 0\nload-ws\nall\nadd-one\nall\nstore-y\nend"
    )
    args = run(body)
    assert (args[3][:32] == product(args) + 1).all()


@pytest.mark.parametrize(("word", "core"), [("acc-to-vec", 0), ("acc-to-vec1", 1)])
def test_the_cube_core_writes_the_buffer_of_the_vector_core_it_names(word: str, core: int) -> None:
    body = f"cube\nproduct\n{word}\nsignal FIX {16 * core}\nend\nvector\n" + (
        f"%mine = arith.constant {core} : index\n%here = arith.cmpi eq, %sub, %mine : index\n"
        "scf.if %here {\nawait V 0\nwhole-sum\nflag V MTE3 0\nstore-whole\nend\nend"
    )
    args = run(body, "a5")
    rows = slice(16 * core, 16 * core + 32)
    assert (args[3][rows] == product(args) + 1).all()
    assert (np.delete(args[3], np.r_[rows], axis=0) == -1).all()


def test_a_dual_move_splits_the_accumulator_between_the_vector_cores() -> None:
    body = "cube\nproduct\nsplit-acc\nsignal FIX 0\nsignal FIX 16\nend\nvector\nawait MTE3 0\nstore-half\nend"
    args = run(body, "a5")
    assert (args[3][:32] == product(args)).all()


@pytest.mark.parametrize("blocks", [1, 3])
def test_blocks_that_meet_see_what_the_others_stored(blocks: int) -> None:
    """Vector cores only: block b stores its index before the others read it."""
    body = (
        "%bi = pto.get_block_idx\n%b = arith.index_cast %bi : i64 to index\n%v = arith.sitofp %bi : i64 to f32\n"
        "pto.store_scalar %v, %ws[%b] : !pto.ptr<f32>, f32\nsignal MTE3 3 0\nawait MTE2 3\n"
        "%n = pto.get_block_num\n%c1i = arith.constant 1 : i64\n%last = arith.subi %n, %c1i : i64\n"
        "%other = arith.subi %last, %bi : i64\n%o = arith.index_cast %other : i64 to index\n"
        "%got = pto.load_scalar %ws[%o] : !pto.ptr<f32> -> f32\n"
        "pto.store_scalar %got, %y[%b] : !pto.ptr<f32>, f32"
    )
    args = run(body, kind="vector", blocks=blocks)
    assert list(args[3].reshape(-1)[:blocks]) == list(range(blocks))[::-1]


def test_on_a5_a_wait_holds_one_pipe_so_the_signal_may_come_from_later() -> None:
    """Each side waits before it signals, on another pipe than the one that signals."""
    body = (
        "cube\nawait MTE2 0\nproduct\nacc-to-ws\nsignal FIX 1\nsignal FIX 17\nend\n"
        "vector\nawait V 1\nfill\nsignal MTE3 0\nflag V MTE3 0\nstore-half\nend"
    )
    with pytest.raises(DiagnosticError) as error:
        run(body.replace("signal FIX 17\n", ""), "a2a3")
    assert [d.rule for d in error.value.diagnostics] == ["DEADLOCK"]
    args = run(body.replace("await MTE2 0", "await MTE2 0\nawait MTE2 16"), "a5")
    assert (args[3][:32] == 1).all()


def deadlock(body: str, on: str = "a2a3", **more: str) -> tuple[Diagnostic, list[int]]:
    """The finding, and the lines of the body it names."""
    with pytest.raises(DiagnosticError) as error:
        run(body, on, **more)
    (finding,) = error.value.diagnostics
    _, places = cluster_text(expand(body), more.get("kind", ""))
    return finding, [places[at.line] for at in (finding.location, *(n.location for n in finding.notes))]


@pytest.mark.parametrize("on", ["a2a3", "a5"])
def test_a_wait_in_vain_is_a_deadlock_at_the_wait(on: str) -> None:
    finding, lines = deadlock("vector\nawait MTE2 5\nstore-half\nend\ncube\nproduct\nend", on)
    assert (finding.rule, lines) == ("DEADLOCK", [2, 2])
    assert "block 0, vector core 0" in finding.message
    assert "vector core 1" in finding.notes[0].message


def test_cores_that_wait_for_each_other_are_all_named() -> None:
    body = "cube\nawait MTE2 0\nsignal FIX 1\nend\nvector\nawait MTE2 1\nsignal MTE3 0\nend"
    finding, lines = deadlock(body)
    assert lines == [2, 6, 6]
    assert "block 0, cube core waits" in finding.message


@pytest.mark.parametrize("on", ["a2a3", "a5"])
def test_one_vector_core_beside_each_cube_core(on: str) -> None:
    body = f"cube\nproduct\nacc-to-ws\nsignal FIX 0\nend\nvector\n{VECTOR}\nend"
    args = run(body, on, vector_cores=1)
    assert (args[3][:16] == product(args)[:16] + 1).all()
    assert (args[3][16:] == -1).all()


def test_sections_of_kernels_in_python() -> None:
    """The vector cores wait for the cube core, and add what they are."""

    @pto.kernel(target="a2a3")
    def k(y: pto.Ptr[pto.i32]) -> None:
        first, second = (pto.GlobalTensor(y + i, (1, 1)) for i in range(2))
        with pto.vector_section():
            pto.TWAIT(first, 5)
            pto.TNOTIFY(second, 10, op=pto.NotifyOp.AtomicAdd)
        with pto.cube_section():
            pto.TNOTIFY(first, 5)

    y = np.zeros(4, np.int32)
    k(y)
    assert y.tolist() == [5, 20, 0, 0]
    assert k.to_pto().count("pto.section.") == 2
    assert k.sanitize(np.zeros(4, np.int32)).clean


def test_slices_that_one_kind_of_core_uses_are_made_there() -> None:
    """What lies outside of the tensor for vector core 1 is a slice of the cube core only."""
    body = (
        "%far = arith.muli %sub, %c64 : index\n"
        "%slice = pto.partition_view %x_v, offsets = [%far, %c0], sizes = [%c32, %c32] : !pto.tensor_view<?x?xf16> -> "
        "!pto.partition_tensor_view<32x32xf16>\n"
        f"cube\npto.tload ins(%slice : !pto.partition_tensor_view<32x32xf16>) outs(%am : {MAT})\n"
        f"product\nacc-to-ws\nsignal FIX 0\nend\nvector\n{VECTOR}\nend"
    )
    args = run(body)
    assert (args[3][:32] == product(args) + 1).all()
