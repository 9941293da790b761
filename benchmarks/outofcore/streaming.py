"""How fast files larger than memory are streamed: text and block files beside `dd` of the same file.

    python benchmarks/outofcore/streaming.py [--folder FOLDER] [--data FOLDER] [--scale 1] [--write FILE.md]

A pass over the rows as training makes it, in blocks of 1 MB, by one thread and nothing else. `dd` and the pass take
turns three times, with the file in the page cache and then taken out of it before each; the best of each counts. The
speed is that of the file's bytes; for block files that of the bytes they hold unpacked too.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from methods import drop_file
from shapes import options_of, shape

from maxmargin.data.open_source import files_of, open_source
from maxmargin.data.rows import Dense
from maxmargin.data.tables.block_file import convert

sys.path.insert(0, str(Path(__file__).parents[1]))

from report import heading, publish, table

NAMES = ("covtype", "mnist", "webspam")
ROUNDS = 3


def main() -> None:
    options = options_of(__doc__)
    rows = []
    for name in (options.names or ",".join(NAMES)).split(","):
        given = shape(name, options.folder, options.real, options.scale)
        if given is None:
            continue
        text = files_of(given.X)[0]
        rows.append([name, "text", *measured(text)])
        for compression in ("none", "lz4", "zstd"):
            path = options.folder / f"{name}-streaming.arrow"
            convert(open_source(str(text)), path, compression)
            rows.append([name, f"block file, {compression}", *measured(path)])
            path.unlink()
        print(*rows[-4:], sep="\n", file=sys.stderr)
    command = " ".join(["python benchmarks/outofcore/streaming.py", *sys.argv[1:]])
    text = heading("Streaming", command, "pyarrow") + f"\n{__doc__.split(chr(10) * 2)[2]}\n\n"
    names = ["file", "kind", "MB", "dd, MB/s", "rows, MB/s", "rows unpacked, MB/s", "dd from disk", "rows from disk"]
    publish(text + table(names, rows), options.write)


def measured(path: Path) -> list[str]:
    size = path.stat().st_size / 1e6
    unpacked = one_pass(path) / 1e6
    found = []
    for cold in (False, True):
        times: dict = {dd: [], one_pass: []}
        for _ in range(ROUNDS):
            for way, seconds in times.items():
                if cold:
                    drop_file(path)
                began = time.perf_counter()
                way(path)
                seconds.append(time.perf_counter() - began)
        found.append([size / min(seconds) for seconds in times.values()])
    (plain, rows), (plain_cold, rows_cold) = found
    speeds = [plain, rows, rows * unpacked / size, plain_cold, rows_cold]
    return [f"{size:.0f}", *(f"{speed:.0f}" for speed in speeds)]


def dd(path: Path) -> None:
    subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=1M", "status=none"], check=True)


def one_pass(path: Path) -> int:
    """Read all rows; how many bytes they are in memory."""
    total = 0
    for block in open_source(str(path), threads=1).blocks():
        rows = block.rows
        total += rows.values.nbytes
        if not isinstance(rows, Dense):
            total += rows.indices.nbytes + rows.indptr.nbytes
    return total


if __name__ == "__main__":
    main()
