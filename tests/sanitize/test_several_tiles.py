"""Several tiles of one type, as double buffering has them: which ones share bytes, and which pipes have to wait."""

from __future__ import annotations

import pytest

from .mini import TILE, Mini

SLOTS = f"!pto.multi_tile_buf<{TILE}, count=2>"
BUFFERS = {"at": "arith.constant 0 : i64", "m": f"pto.alloc_multi_tile addr = %at : {SLOTS}"}
ONE = f"%{{}} = pto.multi_tile_get %m[%c{{}}] : {SLOTS} -> {TILE}"


def program(body: str) -> Mini:
    return Mini(body, tiles=BUFFERS, tensors=("x", "y"))


@pytest.mark.parametrize("slot", [0, 1])
def test_slots_are_apart(slot: int) -> None:
    """A load beside a store is a race if both use the same slot."""
    body = f"""
        {ONE.format("s", 0)}
        {ONE.format("t", slot)}
        load s x
        set MTE2 MTE3 0
        wait MTE2 MTE3 0
        store s y
        load t x
    """
    found = program(body).found()
    assert found == ({} if slot else {"RACE-WAR": [{6, 7}]})


def test_slot_chosen_at_run_time() -> None:
    """Two slots in turn: a load waits for the store two rounds before, or does not."""
    body = """
        set MTE3 MTE2 0
        set MTE3 MTE2 1
        for 4
        %k = arith.remui %i1, %c2 : index
        %t = pto.multi_tile_get %m[%k] : SLOTS -> TILE
        %even = arith.cmpi eq, %k, %c0 : index
        scf.if %even {
        wait MTE3 MTE2 0
        else
        wait MTE3 MTE2 1
        end
        load t x
        set MTE2 MTE3 2
        wait MTE2 MTE3 2
        store t y
        scf.if %even {
        set MTE3 MTE2 0
        else
        set MTE3 MTE2 1
        end
        end
        wait MTE3 MTE2 0
        wait MTE3 MTE2 1
    """.replace("SLOTS", SLOTS).replace("TILE", TILE)
    assert program(body).found() == {}
    wrong = body.replace("set MTE3 MTE2 1", "").replace("wait MTE3 MTE2 1", "")
    assert "RACE-WAR" in program("\n".join(line for line in wrong.splitlines() if line.strip())).found()


def test_a_tile_that_was_not_written() -> None:
    body = f"""
        {ONE.format("s", 0)}
        {ONE.format("t", 1)}
        load s x
        set MTE2 MTE3 0
        wait MTE2 MTE3 0
        store t y
    """
    assert list(program(body).found()) == ["UNINIT-READ"]
