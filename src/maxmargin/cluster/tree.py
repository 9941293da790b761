"""The fixed tree in which the totals of partitions are added: neighbours first, as in `in_a_tree`.

Node (level, k) is the sum over the partitions k 2^level to (k + 1) 2^level − 1. A worker adds up the nodes it has both
halves of, the client the rest. So the bits of the sum depend on the partitions only, not on which worker holds them.
"""

from __future__ import annotations

from maxmargin.data.reduction import Totals, add_up

Node = tuple[int, int]
Sums = list[Totals]  # the totals of each pass


def leaves(totals: dict[int, Sums]) -> dict[Node, Sums]:
    """Return the nodes of single partitions."""
    return {(0, number): sums for number, sums in totals.items()}


def merged(nodes: dict[Node, Sums], count: int) -> dict[Node, Sums]:
    """Return the nodes after all possible additions, for `count` partitions in all; the arrays are overwritten."""
    level, size = 0, count
    nodes = dict(nodes)
    while size > 1:
        for _, k in sorted(node for node in nodes if node[0] == level and node[1] % 2 == 0):
            left, right = (level, k), (level, k + 1)
            if k + 1 == size:  # the last of an odd number has no neighbour
                nodes[level + 1, k // 2] = nodes.pop(left)
            elif right in nodes:
                one, other = nodes.pop(left), nodes.pop(right)
                nodes[level + 1, k // 2] = [add_up(pair) for pair in zip(one, other, strict=True)]
        level, size = level + 1, -(-size // 2)
    return nodes


def root(count: int) -> Node:
    """Return the node that is the sum over all partitions."""
    return (max(count - 1, 0).bit_length(), 0)
