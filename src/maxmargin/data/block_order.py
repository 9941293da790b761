"""The blocks of a source, pass after pass: in the order of the file at first, then each time in a new random order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np

from maxmargin.data.source import Place, RowBlock, Source
from maxmargin.system.threads import in_order

AHEAD = 3  # Blocks that the operating system is asked to read ahead.


@dataclass(eq=False)
class ShuffledBlocks:
    """The blocks of each pass; `helpers` further threads parse ahead where blocks can be read in any order."""

    source: Source
    rng: np.random.Generator
    helpers: int = 0
    places: list[Place] = field(default_factory=list)

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the blocks of a pass, in a new random order if the file allows it and their positions are known."""
        source = self.source
        places = self.places or source.places
        if places is not None and source.any_order:
            source.check()
            order = [places[number] for number in self.rng.permutation(len(places))]
            with closing(in_order(source.block_at, expected(source, order), self.helpers)) as found:
                for done, (_, block) in enumerate(found, 1):
                    yield block._replace(read=source.size * done // len(places))
            source.check()
            return
        places = []
        for block in source.blocks():
            places.append(block.place)
            yield block
        self.places = places


def expected(source: Source, places: Sequence[Place]) -> Iterator[Place]:
    """Yield the places in order, and ask the operating system to read the bytes of later ones ahead."""
    for number, place in enumerate(places):
        for soon in places[number + AHEAD : number + AHEAD + 1]:
            source.expect(soon)
        yield place
