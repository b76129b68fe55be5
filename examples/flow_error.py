#!/usr/bin/env python3
"""Compares motion in two Middlebury .flo files, for example of motionserialize and the true one.

    flow_error.py FOUND.flo TRUE.flo

Prints the mean end-point error in samples, its root mean square, and the share of samples that are more than one
and more than three samples away, over all samples whose true motion is known. Needs python3-numpy.
"""

import sys

try:
    import numpy
except ImportError as error:
    sys.exit(f"{error}: install python3-numpy")


def read(path):
    """One vector a sample."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        sys.exit(str(error))
    if data[:4] != b"PIEH" or len(data) < 12:
        sys.exit(f"{path} is no .flo file: it does not begin with PIEH")
    width, height = numpy.frombuffer(data, "<u4", 2, 4)
    if len(data) != 12 + 8 * int(width) * int(height):
        sys.exit(f"{path} does not have {width} x {height} vectors")
    return numpy.frombuffer(data, "<f4", offset=12).reshape(height, width, 2)


def main():
    if sys.argv[1:] in (["--help"], ["-h"]):
        print(__doc__.strip())
        sys.exit()
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    found, true = (read(path) for path in sys.argv[1:])
    if found.shape != true.shape:
        sys.exit(f"the files have {found.shape[1::-1]} and {true.shape[1::-1]} samples: they must be equal")
    # What is not known has huge values.
    known = (numpy.abs(true) < 1e9).all(-1)
    if not known.any():
        sys.exit(f"{sys.argv[2]} has no sample whose motion is known")
    if (numpy.abs(found[known]) >= 1e9).any():
        sys.exit(f"{sys.argv[1]} has no vectors: it is of a frame without a reference frame")
    error = numpy.linalg.norm(found[known] - true[known], axis=-1)
    print(
        f"end-point error: mean {error.mean():.3f}, root mean square {numpy.sqrt((error**2).mean()):.3f} samples; "
        f"{(error > 1).mean():.1%} over 1, {(error > 3).mean():.1%} over 3"
    )


if __name__ == "__main__":
    main()
