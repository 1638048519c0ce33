"""Tiles that share bytes and look like a race: one finding that names them, and a free address as its fix."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ptokit as pto
from ptokit import f16, f32
from ptokit.asm import read_module
from ptokit.sanitize import Report, sanitize
from ptokit.targets import target

from .mini import Mini
from .mutants import Kernel, kernels

KERNELS = {kernel.name: kernel for kernel in kernels()}


def mended(kernel: Kernel, old: str, new: str, folder: Path) -> tuple[Report, Report, str]:
    """A kernel with other addresses: what is found, what is left after the fix, and the fixed text. Its results are
    those of the kernel as it is."""
    assert old in kernel.text
    text = kernel.text.replace(old, new)
    _, wanted = kernel.launch(kernel.write(folder))
    report, _ = kernel.launch(kernel.write(folder, text))
    fixed = report.fix(text)
    after, values = kernel.launch(kernel.write(folder, fixed))
    assert values == wanted
    return report, after, fixed


@pytest.mark.parametrize(
    ("name", "old", "new", "said", "written"),
    [
        (
            *("gemm_2_1", "addr=4096 * i + 2048", "addr=4096 * i + 3072"),
            "in_a[1] and in_b[0] share bytes 0x1000..0x13ff of L1",
            "addr=4096 * i + 6144",
        ),
        (
            *("gemm_2_1", "addr=4096 * i + 2048", "addr=4096 * i"),  # both are alive at once: UB-OVERLAP
            "in_a[0] and in_b[0] share bytes 0x0..0x7ff of L1",
            "addr=4096 * i + 6144",
        ),
        (
            *("unrolled_scale_2", "addr=(2 + i) * 4096", "addr=(1 + i) * 4096"),
            "ins[1] and outs[0] share bytes 0x1000..0x1fff of UB",
            "addr=(1 + i) * 4096 + 4096",
        ),
        (
            *("unrolled_scale_2", "addr=(2 + i) * 4096", "addr=(2 + i) * 4096 - 2048"),
            "ins[1] and outs[0] share bytes 0x1800..0x1fff of UB",
            "addr=(2 + i) * 4096)",
        ),
    ],
)
def test_tiles_that_overlap_are_one_finding(
    name: str, old: str, new: str, said: str, written: str, tmp_path: Path
) -> None:
    report, after, fixed = mended(KERNELS[name], old, new, tmp_path)
    (finding,) = report.diagnostics
    assert finding.message.startswith(f"{said}: ")
    assert len(report.symptoms) > 1
    assert (finding.hint or "").startswith("move ")
    assert after.clean
    assert written in fixed


def sanitized(text: str, folder: Path, args: list[np.ndarray], *, on: str = "a2a3") -> Report:
    path = folder / "k.pto"
    path.write_text(text)
    read = read_module(str(path), target=target(on))
    read.diagnostics.raise_if_errors()
    return sanitize(read.module, on, args)


def test_text_gets_a_constant_of_its_own(tmp_path: Path) -> None:
    """`%c_addr` may be the address of another tile, too."""
    body = "load a x\nset MTE2 V 0\nwait MTE2 V 0\nadds a b\nload c y"
    program = Mini(body, tiles={"a": 0, "b": 8192, "c": 1024})
    report = sanitized(program.text, tmp_path, program.values())
    (finding,) = report.diagnostics
    assert finding.rule == "RACE-WAR"
    assert finding.message.startswith("%a and %c share bytes 0x400..0x7ff of UB: TLOAD on PIPE_MTE2 writes %c")
    fixed = report.fix(program.text)
    assert "%c2048_i64 = arith.constant 2048 : i64\n%c = pto.alloc_tile addr = %c2048_i64" in fixed
    assert sanitized(fixed, tmp_path, program.values()).clean


def test_a_tile_reused_at_its_address_lacks_a_flag(tmp_path: Path) -> None:
    body = "load a x\nset MTE2 V 0\nwait MTE2 V 0\nadds a b\nload c y"
    program = Mini(body, tiles={"a": 0, "b": 8192, "c": 0})
    (finding,) = sanitized(program.text, tmp_path, program.values()).diagnostics
    assert finding.message.startswith("TLOAD on PIPE_MTE2 writes %c while ")
    assert "pto.set_flag[<PIPE_V>, <PIPE_MTE2>, " in (finding.hint or "")


def test_a_value_that_is_handed_on_through_an_address_stays(tmp_path: Path) -> None:
    """%c reads the second half of what was loaded into %a: they share bytes on purpose, and the flag is what lacks."""
    program = Mini("load a x\nadds c b", tiles={"a": 0, "b": 8192, "c": 1024})
    report = sanitized(program.text, tmp_path, program.values())
    races = [d for d in report.diagnostics if d.rule == "RACE-RAW"]
    assert races
    assert all("share bytes" not in d.message and "set_flag" in (d.hint or "") for d in races)


def test_a_tile_that_pointers_lead_to_stays(tmp_path: Path) -> None:
    """%c is read by its address, too, which another address of the tile would not change."""
    row, pointer, at_c = "!pto.vreg<64xf32>", "!pto.ptr<f32, ub>", "%q = pto.castptr %c_addr : i64 -> !pto.ptr<f32, ub>"
    vectors = f"""pto.vecscope {{
{at_c}
%m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
%v = pto.vlds %q[%c0] : {pointer} -> {row}
pto.vsts %v, %q[%c0], %m : {row}, {pointer}, !pto.mask<b32>
}}"""
    flags = "set MTE2 V 0\nwait MTE2 V 0"
    body = f"load a x\n{flags}\nadds a b\nload c y\n{flags}\n{vectors}"
    program = Mini(body, tiles={"a": 0, "b": 8192, "c": 1024})
    report = sanitized(program.text, tmp_path, program.values(), on="a5")
    (race,) = (d for d in report.diagnostics if d.rule == "RACE-WAR")
    assert "share bytes" not in race.message


def test_without_room_a_tile_stays(tmp_path: Path) -> None:
    big = "!pto.tile_buf<vec, 716x64xf32>"
    body = f"load a x\nset MTE2 V 0\nwait MTE2 V 0\nadds a b\nload c y\n%z = pto.alloc_tile addr = %big : {big}"
    body += f"\npto.texpands ins(%one : f32) outs(%z : {big})"
    tiles = {"a": 0, "b": 2048 + 1024, "c": 1024}
    program = Mini(f"%big = arith.constant 5120 : i64\n{body}", tiles=tiles)
    (finding,) = (d for d in sanitized(program.text, tmp_path, program.values()).diagnostics if "RACE" in d.rule)
    assert "share bytes" not in finding.message


def ring(address: int, *, early: bool = False, assigned: bool = False) -> pto.Kernel:
    """The cube core pushes four tiles, a vector core adds 1 into a tile at an address and stores it."""
    v, mte3, mte2, mte1, m, fix = pto.PIPE_V, pto.PIPE_MTE3, pto.PIPE_MTE2, pto.PIPE_MTE1, pto.PIPE_M, pto.PIPE_FIX

    @pto.kernel(target="a5")
    def k(x: pto.Ptr[f16], y: pto.Ptr[f32]):
        gx, gy = pto.GlobalTensor(x, (16, 16)), pto.GlobalTensor(y, (64, 16))
        sums = pto.TPipe(0, pto.Direction.DIR_C2V, 1024, 2, c2v_consumer_buf=0)
        with pto.cube_section():
            nz = {"blayout": pto.BLayout.ColMajor, "slayout": pto.SLayout.RowMajor}
            l1 = pto.Tile(pto.TileType.Mat, f16, 16, 16, addr=0, **nz)
            left, right = pto.TileLeft(f16, 16, 16, addr=0), pto.TileRight(f16, 16, 16, addr=0)
            acc = pto.TileAcc(f32, 16, 16, addr=0)
            pto.TLOAD(l1, gx[:, :])
            for source, to in ((mte2, mte1), (mte1, m), (m, fix)):
                pto.set_flag(source, to, 0)
                pto.wait_flag(source, to, 0)
                if source == mte2:
                    pto.TMOV(left, l1)
                    pto.TMOV(right, l1)
                if source == mte1:
                    pto.TMATMUL(acc, left, right)
            for _ in range(4):
                pto.TPUSH(sums, acc, pto.TileSplitAxis.TILE_NO_SPLIT)
        with pto.vector_section():
            t = pto.Tile(pto.TileType.Vec, f32, 16, 16)
            if assigned:
                u = pto.Tile(pto.TileType.Vec, f32, 16, 16)
                pto.TASSIGN(u, address)
            else:
                u = pto.Tile(pto.TileType.Vec, f32, 16, 16, addr=address)
            if early:
                pto.TEXPANDS(t, 1.0)
            pto.set_flag(mte3, v, 0)
            for i in range(4):
                pto.TPOP(sums, t)
                pto.wait_flag(mte3, v, 0)
                pto.TADDS(u, t, 1.0)
                pto.TFREE(sums)
                pto.set_flag(v, mte3, 0)
                pto.wait_flag(v, mte3, 0)
                pto.TSTORE(gy[i * 16 : i * 16 + 16], u)
                pto.set_flag(mte3, v, 0)
            pto.wait_flag(mte3, v, 0)

    return k


def rung(address: int, **how: bool) -> Report:
    return ring(address, **how).sanitize(np.ones((16, 16), np.float16), np.zeros((64, 16), np.float32))


@pytest.mark.parametrize("assigned", [False, True])
def test_a_tile_among_the_slots_of_a_pipe(assigned: bool) -> None:
    (finding,) = rung(1024, assigned=assigned).diagnostics
    assert finding.message.startswith("u and the ring of pipe sums share bytes 0x400..0x7ff of UB: TADDS on PIPE_V")
    assert (finding.hint or "").startswith(
        "move u to the next free address, 0x800: write address + 1024 as its address"
    )
    assert {d.rule for d in rung(1024, assigned=assigned).symptoms} == {"PIPE-RING", "RACE-XCORE-WAW", "RACE-XCORE-RAW"}
    assert rung(2048, assigned=assigned).clean


def test_a_tile_that_is_no_slot_yet() -> None:
    (finding,) = rung(2048, early=True).diagnostics
    assert finding.rule == "UNBOUND-TILE"
    assert finding.message == "TEXPANDS uses t before TPOP makes it a slot of a pipe"
