"""Blocks of one region and the branches between them: order and dominance (assembly 2)."""

from __future__ import annotations

from collections.abc import Sequence

from .core import Block


def ordered(region: Block) -> list[Block]:
    """The blocks of a region, each after all that dominate it; those that nothing leads to come last."""
    if not region.more:
        return [region]
    blocks = region.blocks
    number = {id(block): k for k, block in enumerate(blocks)}
    edges = [[number[id(to)] for to in block.ops[-1].successors] if block.ops else [] for block in blocks]
    order = reverse_postorder(edges)
    reached = set(order)
    return [blocks[k] for k in (*order, *(k for k in range(len(blocks)) if k not in reached))]


def reachable(region: Block) -> list[Block]:
    """As `ordered`, without blocks that nothing leads to."""
    blocks = ordered(region)
    seen = {id(region)}
    for block in blocks:  # a predecessor that is no back edge stands before it
        if id(block) in seen and block.ops:
            seen.update(id(to) for to in block.ops[-1].successors)
    return [block for block in blocks if id(block) in seen]


def reverse_postorder(edges: Sequence[Sequence[int]], start: int = 0, seen: set[int] | None = None) -> list[int]:
    """Nodes reached from `start`, each before its successors but for edges that close a cycle.

    ``seen``: nodes not to be entered, to which those that are reached are added.
    """
    seen = set() if seen is None else seen
    seen.add(start)
    out: list[int] = []
    stack = [(start, 0)]
    while stack:
        node, k = stack.pop()
        if k < len(edges[node]):
            stack.append((node, k + 1))
            to = edges[node][k]
            if to not in seen:
                seen.add(to)
                stack.append((to, 0))
        else:
            out.append(node)
    return out[::-1]


def dominators(edges: Sequence[Sequence[int]]) -> dict[int, int]:
    """The immediate dominator of every node reached from node 0, which has itself.

    Lengauer and Tarjan's algorithm with path compression: O(e log n), whatever the shape of the graph.
    """
    order, parent = _depth_first(edges)
    number = {node: k for k, node in enumerate(order)}
    entering: list[list[int]] = [[] for _ in order]
    for k, node in enumerate(order):
        for to in edges[node]:
            entering[number[to]].append(k)
    semi = list(range(len(order)))
    best = list(range(len(order)))
    ancestor = [-1] * len(order)
    bucket: list[list[int]] = [[] for _ in order]
    idom = [0] * len(order)

    def lowest(v: int) -> int:
        """The node with the least semidominator on the way up from v, as far as it has been linked."""
        path = []
        while ancestor[v] >= 0 and ancestor[ancestor[v]] >= 0:
            path.append(v)
            v = ancestor[v]
        for w in reversed(path):
            above = ancestor[w]
            if semi[best[above]] < semi[best[w]]:
                best[w] = best[above]
            ancestor[w] = ancestor[above]
        return path[0] if path else v

    for w in range(len(order) - 1, 0, -1):
        for v in entering[w]:
            semi[w] = min(semi[w], semi[best[lowest(v)]])
        bucket[semi[w]].append(w)
        above = parent[w]
        ancestor[w] = above
        for v in bucket[above]:
            u = best[lowest(v)]
            idom[v] = u if semi[u] < semi[v] else above
        bucket[above] = []
    for w in range(1, len(order)):
        if idom[w] != semi[w]:
            idom[w] = idom[idom[w]]
    return {order[k]: order[idom[k]] for k in range(len(order))}


def _depth_first(edges: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Nodes in depth-first order, and the position in it of the node each was reached from."""
    order: list[int] = []
    parent: list[int] = []
    seen: set[int] = set()
    stack = [(0, 0)]
    while stack:
        node, above = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        here = len(order)
        order.append(node)
        parent.append(above)
        stack.extend((to, here) for to in reversed(edges[node]) if to not in seen)
    return order, parent
