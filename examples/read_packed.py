#!/usr/bin/env python3
"""Reads motion vectors in the packed binary format of motionserialize and motion-vectors with numpy.

    read_packed.py FILE

Prints one line per field. A file of `motion-vectors --zstd` has to be unpacked before: `zstd -d FILE`. Needs
python3-numpy, and no GStreamer. The reader is that of the package motion-search, which need not be installed.
"""

import sys
from pathlib import Path

try:
    import numpy
except ImportError as error:
    sys.exit(f"{error}: install python3-numpy")

try:
    from motion_search.packed import METRICS, read_records
except ImportError:
    # One module of the package, which needs no other.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python/motion_search/python/motion_search"))
    from packed import METRICS, read_records


def main():
    if sys.argv[1:] in (["--help"], ["-h"]):
        print(__doc__.strip())
        sys.exit()
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    try:
        with open(sys.argv[1], "rb") as file:
            data = memoryview(file.read())
        for record, vectors, costs in read_records(data):
            if not vectors.size:
                print(f"{record['pts']} no vectors")
                continue
            length = numpy.hypot(vectors["x"].astype(float), vectors["y"]) / record["scale"]
            print(
                f"{record['pts']} {vectors.shape[1]} x {vectors.shape[0]} blocks, "
                f"reference {record['reference_offset']:+}, "
                f"length mean {length.mean():.2f} max {length.max():.2f} samples, "
                f"mean {METRICS[record['metric']]} {vectors['cost'].mean():.1f}"
                + "".join(f", {name} {values.mean():.1f}" for name, values in costs.items())
            )
    except (OSError, ValueError) as error:
        sys.exit(f"{sys.argv[1]}: {error}")


if __name__ == "__main__":
    main()
