"""How the steps of a function stand to each other: who gives a value, who takes it, what stands around a step."""

from __future__ import annotations

from ptokit.ir.core import Value

from .plan import Block, FunctionPlan, Region, Step


class Relations:
    """Of one function.

    ``giver``: the step that a value is a result of; ``users``: the steps that take it, in their order. ``takes``: the
    block that a value is an argument of. ``places``: the block that a step stands in, and its position there; those
    that are done first stand in none. ``owners``: the step that a block belongs to; the function's belong to none.
    ``regions``: the region that a block is part of.
    """

    def __init__(self, function: FunctionPlan) -> None:
        self.giver: dict[Value, Step] = {}
        self.users: dict[Value, list[Step]] = {}
        self.takes: dict[Value, Block] = {}
        self.places: dict[Step, tuple[Block, int]] = {}
        self.owners: dict[Block, Step] = {}
        self.regions: dict[Block, Region] = {}
        for step in function.walk():
            self.giver.update(dict.fromkeys(step.results, step))
            for value in dict.fromkeys(step.values):
                self.users.setdefault(value, []).append(step)
            for region in step.regions:
                self.owners.update(dict.fromkeys(region, step))
                self._region(region)
        self._region(function.body)

    def _region(self, region: Region) -> None:
        self.regions.update(dict.fromkeys(region, region))
        for block in region:
            self.takes.update(dict.fromkeys(block.args, block))
            self.places.update((step, (block, k)) for k, step in enumerate(block.steps))

    def around(self, value: Value) -> Step | None:
        """The step in whose region a value is an argument."""
        block = self.takes.get(value)
        return None if block is None else self.owners.get(block)

    def place_in(self, step: Step, block: Block) -> int | None:
        """Where in a block a step stands, by itself or inside another one."""
        while step in self.places:
            here, at = self.places[step]
            if here is block:
                return at
            owner = self.owners.get(here)
            if owner is None:
                return None
            step = owner
        return None
