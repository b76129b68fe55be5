"""Compares what a detector of motion has found in a scene with what is there."""

from dataclasses import dataclass, field

import numpy

from detect_scenes import RATE, Scene

# Frames in which a detector may still learn the scene.
LEARNING = 2 * RATE


@dataclass
class Followed:
    """What a detector has found of one object."""

    thing: object
    frames: int = 0
    fits: int = 0
    touches: int = 0
    first: int = None
    delay: int = None
    ids: set = field(default_factory=set)


@dataclass
class Result:
    """What a detector has found in one scene."""

    scene: Scene
    alarms: int = 0
    alarm_frames: int = 0
    begun: int = 0
    false_boxes: int = 0
    objects: list = field(default_factory=list)
    # Frames of hits, misses and false boxes.
    hits: list = field(default_factory=list)
    misses: list = field(default_factory=list)
    wrong: list = field(default_factory=list)

    @property
    def frames(self):
        return max(self.scene.count - LEARNING, 1)

    @property
    def alarms_an_hour(self):
        return self.alarms * 3600 * RATE / self.frames


def intersection(a, b):
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    return max(width, 0) * max(height, 0)


def fits(a, b):
    common = intersection(a, b)
    return common >= 0.5 * (a[2] * a[3] + b[2] * b[3] - common)


def grown(box, by):
    return box[0] - by, box[1] - by, box[2] + 2 * by, box[3] + 2 * by


def union(a, b):
    left, top = min(a[0], b[0]), min(a[1], b[1])
    return left, top, max(a[0] + a[2], b[0] + b[2]) - left, max(a[1] + a[3], b[1] + b[3]) - top


def touches(found, box, unit):
    """Whether a found box is on an object, and not just as large as the frame."""
    around = grown(box, 16 * unit)
    return intersection(found, box) > 0 and found[2] * found[3] <= 4 * around[2] * around[3]


def judge(scene, boxes, begun):
    """Compares what was found with what is there."""
    result = Result(scene, objects=[Followed(thing) for thing in scene.objects])
    last_alarm = -RATE
    # Where each object was, with the frame, for the last second.
    trails = [[] for _ in scene.objects]
    for n, found in enumerate(boxes):
        truth = scene.truth(n)
        for box in truth:
            trails[box.index].append((n, (box.x, box.y, box.width, box.height)))
        places = []
        for trail in trails:
            while trail and trail[0][0] < n - RATE:
                trail.pop(0)
            if trail:
                whole = trail[0][1]
                for _, place in trail:
                    whole = union(whole, place)
                places.append((whole, [place for _, place in trail]))
        for box in truth:
            if box.wanted:
                follow(result, n, (box.x, box.y, box.width, box.height), found, result.objects[box.index])
        if n < LEARNING:
            continue
        result.begun += len(begun[n])
        by, false = 16 * scene.unit, 0
        for box in found:
            near = [
                whole for whole, trail in places
                if box[2] * box[3] <= 4 * numpy.prod(grown(whole, by)[2:]) and any(intersection(box, grown(place, by)) for place in trail)
            ]  # fmt: skip
            false += not near
        result.false_boxes += false
        if false:
            result.wrong.append(n)
        if found:
            result.alarm_frames += 1
            result.alarms += n - last_alarm > RATE
            last_alarm = n
    return result


def follow(result, n, box, found, followed):
    """One object in one frame."""
    followed.first = n if followed.first is None else followed.first
    followed.frames += 1
    touching = [each for each in found if touches(each, box, result.scene.unit)]
    followed.fits += any(fits(each, box) for each in found)
    if touching:
        followed.touches += 1
        followed.ids.update(each[4] for each in touching)
        if followed.delay is None:
            followed.delay = n - followed.first
        result.hits.append(n)
    else:
        result.misses.append(n)
