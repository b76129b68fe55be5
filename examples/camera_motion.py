#!/usr/bin/env python3
"""Prints how the camera moves, from the vectors of most blocks (RANSAC).

    camera_motion.py [PIPELINE]

PIPELINE is a gst-launch description of everything before the appsink and must contain
`motionestimate algorithm=hierarchical costs=confidence`. Prints a line for each frame with a field: how the picture moves
from the reference frame to this one, in samples to the right and down at the centre of the frame, how much larger it
gets, by how many degrees it turns clockwise, and the share of the blocks that move so. What moves otherwise does not
matter as long as it covers less than half of the trusted blocks. Where less than a tenth of all blocks move alike, there
are no vectors to trust. Needs what read_vectors.py needs.
"""

import sys

from read_vectors import Gst, description_of_arguments, numpy, read_buffers, read_costs, read_fields

DEFAULT = (
    "filesrc location=media/big_buck_bunny.mp4 ! decodebin ! videoconvert"
    " ! motionestimate algorithm=hierarchical costs=confidence"
)

# The least confidence that counts, of 255.
TRUSTED = 64
# How far a block may be from where the camera's motion puts it, in samples.
TOLERANCE = 0.5
# The least share of all blocks that tells how the camera moves. Fewer may be anything.
LEAST = 0.1
TRIALS = 500


def camera_motion(field, structure):
    """The motion of the picture from the reference frame to this one, None if too few vectors are to be trusted.

    Returns complex numbers `turn` and `shift`, and the share of all blocks that follow them: a sample at `z` from the
    centre of the reference frame, x + iy, is at `turn * z + shift` in this one. The absolute value of `turn` is the
    zoom, and its angle the rotation.

    Raises:
        ValueError: if the field has no confidence.
    """
    confidence = read_costs(structure).get("confidence")
    if confidence is None:
        raise ValueError("the vectors have no confidence: set costs=confidence of motionestimate")
    is_trusted = confidence >= TRUSTED
    row, column = numpy.indices(field.shape)
    side, scale = structure.get_value("block-width"), structure.get_value("scale")
    centre = complex(structure.get_value("width"), structure.get_value("height")) / 2
    # The middle of each block here, and its match there.
    here = (column + 0.5 + 1j * (row + 0.5)) * side - centre
    there = here + (field["x"] + 1j * field["y"]) / scale
    here, there = here[is_trusted], there[is_trusted]
    if here.size < max(2, LEAST * field.size):
        return None
    # Two blocks give a motion. The one that most blocks follow wins.
    pairs = numpy.random.default_rng(1).integers(here.size, size=(TRIALS, 2))
    first, second = pairs[here[pairs[:, 0]] != here[pairs[:, 1]]].T
    turns = (there[second] - there[first]) / (here[second] - here[first])
    shifts = there[first] - turns * here[first]
    follows = abs(turns[:, None] * here + shifts[:, None] - there) < TOLERANCE
    follows = follows[follows.sum(1).argmax()]
    if follows.sum() < LEAST * field.size:
        return None
    for _ in range(3):
        # The least squares of all that follow.
        z, w = here[follows], there[follows]
        turn = numpy.vdot(z - z.mean(), w - w.mean()) / numpy.vdot(z - z.mean(), z - z.mean())
        shift = w.mean() - turn * z.mean()
        follows = abs(turn * here + shift - there) < TOLERANCE
    # Vectors lead from this frame to the reference frame.
    return 1 / turn, -shift / turn, follows.sum() / field.size


def main():
    has_fields = False
    for buffer in read_buffers(description_of_arguments(DEFAULT, __doc__)):
        for field, structure in read_fields(buffer):
            has_fields = True
            try:
                found = camera_motion(field, structure)
            except ValueError as error:
                sys.exit(str(error))
            if found is None:
                print(f"{buffer.pts / Gst.SECOND:.3f} s: no vectors to trust")
                continue
            turn, shift, share = found
            print(
                f"{buffer.pts / Gst.SECOND:.3f} s: right {shift.real:.2f} down {shift.imag:.2f} zoom {abs(turn):.4f} "
                f"turn {numpy.degrees(numpy.angle(turn)):.3f} blocks {share:.0%}"
            )
    if not has_fields:
        sys.exit("no frame has vectors: the pipeline needs motionestimate, and two frames")


if __name__ == "__main__":
    main()
