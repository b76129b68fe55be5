"""What changes the frames of a scene: the motion of the camera, light, leaves, weather, focus and noise.

An effect is a function that is called for a scene with the scene's random numbers, and returns a function that changes the planes
(luma and both chroma, of floats) of frame after frame.
"""

from math import cos, pi, sin

import cv2
import numpy

RATE = 25


# Cameras: how far the frame's middle is from the picture's, in samples at 640 x 360, the zoom, and the angle in radians.


def triangle(position):
    """Goes from -1 to 1 and back while `position` grows by one."""
    position %= 1
    return 4 * abs(position - 0.5) - 1


def with_rests(n, moving, resting):
    """The position on a path with so many frames of moving and resting in turn."""
    turns, rest = divmod(n, moving + resting)
    return turns + min(rest / moving, 1)


def shake(amplitude):
    """A hand's: some sines whose periods have no common multiple."""

    def path(n):
        t = n / RATE
        x = sin(2 * pi * 1.3 * t) + 0.6 * sin(2 * pi * 3.1 * t + 1) + 0.3 * sin(2 * pi * 7.7 * t + 2)
        y = sin(2 * pi * 1.7 * t + 3) + 0.6 * sin(2 * pi * 2.9 * t + 4) + 0.3 * sin(2 * pi * 6.1 * t + 5)
        return amplitude * x, amplitude * y, 1, 0.0007 * amplitude * sin(2 * pi * 1.1 * t)

    return path


CAMERAS = {
    "pan slow": lambda n: (60 * triangle(n / 480), 0, 1, 0),
    "pan fast": lambda n: (60 * triangle(with_rests(n, 20, 30) / 2), 0, 1, 0),
    "tilt": lambda n: (0, 34 * triangle(with_rests(n, 60, 40) / 2), 1, 0),
    "zoom": lambda n: (0, 0, 1.25 + 0.25 * triangle(with_rests(n, 75, 50) / 2), 0),
    "rotation": lambda n: (0, 0, 1.1, 0.08 * triangle(n / 200)),
    "shake small": shake(0.15),
    "shake hand": shake(1.5),
    "pan with shake": lambda n: tuple(a + b for a, b in zip(CAMERAS["pan slow"](n), (*shake(1.0)(n)[:2], 0, 0))),
}


def camera_matrix(path, n, unit, frame, world):
    """From samples of the frame to those of the picture (2 x 3)."""
    x, y, zoom, angle = path(n) if path else (0, 0, 1, 0)
    turn = numpy.array([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]]) / zoom
    middle = (numpy.array(frame) - 1) / 2
    place = (numpy.array(world) - 1) / 2 + unit * numpy.array([x, y])
    return numpy.column_stack([turn, place - turn @ middle])


def for_chroma(matrix):
    """The same map for planes of half the width and height, whose samples lie between two of luma."""
    turn, shift = matrix[:, :2], matrix[:, 2]
    return numpy.column_stack([turn, (turn @ [0.5, 0.5] + shift - 0.5) / 2])


def warped(plane, matrix, size):
    flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    return cv2.warpAffine(plane, matrix, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)


# Effects: each is made for a scene, and then changes the planes of frame after frame.


def steady(curve):
    """Light for the whole frame: `curve(n)` is the gain, the offset and the share of chroma."""

    def make(scene, random):
        def change(n, planes):
            gain, offset, chroma = curve(n)
            return [planes[0] * gain + offset, *((plane - 128) * chroma + 128 for plane in planes[1:])]

        return change

    return make


def lamp(n):
    """On for ten seconds, off for ten; a tube that needs a few frames."""
    since = n % 500
    share = min(since / 3, 1) if since < 250 else max(1 - (since - 250) / 2, 0)
    return 0.55 + 0.45 * share, 0, 0.6 + 0.4 * share


def dawn(n):
    share = (1 + triangle(n / 3000 + 0.5)) / 2
    return 0.3 + 0.7 * share, 4 * (1 - share), 0.3 + 0.7 * share


def pumping(n):
    """An automatic exposure that swings and goes in steps."""
    t = n / RATE
    return 2 ** (round(8 * 0.4 * sin(2 * pi * t / 3.1)) / 8 + 0.1 * sin(2 * pi * t / 11)), 0, 1


def spot(scene, x, y, radius):
    """A light's cone: one in its middle, falling to zero."""
    rows, columns = numpy.indices((scene.height, scene.width), numpy.float32)
    return numpy.exp(-((columns - x) ** 2 + ((rows - y) * 1.3) ** 2) / (2 * radius**2))


def local_lamp(scene, random):
    """A lamp that lights a part of the scene, on and off each eight seconds."""
    cone = spot(scene, 0.35 * scene.width, 0.4 * scene.height, 0.22 * scene.width)

    def change(n, planes):
        share = min(n % 400 / 2, 1) if n % 400 < 200 else 0
        return [planes[0] * (0.6 + 0.7 * share * cone), *planes[1:]]

    return change


def headlights(scene, random):
    """At night, each eight seconds a pair of cones sweeps over the scene in two."""

    def change(n, planes):
        luma, at = planes[0] * 0.4, n % 200
        if at < 50:
            x, y = (1.4 * at / 50 - 0.2) * scene.width, 0.6 * scene.height
            gap, radius = 0.06 * scene.width, 0.07 * scene.width
            cone = spot(scene, x - gap, y, radius) + spot(scene, x + gap, y, radius)
            luma += (0.7 * planes[0] + 15) * cone
        return [luma, *((plane - 128) * 0.4 + 128 for plane in planes[1:])]

    return change


def lightning(scene, random):
    flashes = {}

    def change(n, planes):
        if n % 125 == 60:
            length = random.integers(2, 7)
            flashes.update({n + i: random.uniform(0, 1.8) for i in range(length)})
        gain = 0.45 + flashes.pop(n, 0)
        return [planes[0] * gain + 12 * max(gain - 0.45, 0), *((plane - 128) * 0.5 + 128 for plane in planes[1:])]

    return change


def infrared(scene, random):
    """Each ten seconds the camera goes to infrared or back. Leaves and cloth are bright in infrared; the lamp is the camera's.
    Two frames are dark as the filter moves, then the exposure needs a second."""
    cone = spot(scene, scene.width / 2, scene.height / 2, 0.45 * scene.width)

    def change(n, planes):
        turns, since = divmod(n, 250)
        settling = 2 ** (-0.8 * numpy.exp(-since / 8)) if n >= 250 else 1
        if n >= 250 and since < 2:
            settling = 0.15
        luma, blue, red = planes
        if turns % 2 == 0:
            return [0.8 * luma * settling, (blue - 128) * 0.8 + 128, (red - 128) * 0.8 + 128]
        size = scene.width, scene.height
        material = cv2.resize(0.9 * (red - 128) - 0.6 * (blue - 128), size)
        seen = numpy.clip(luma + material, 0, 255) / 255
        gray = numpy.full_like(blue, 128)
        return [220 * seen**0.7 * (0.45 + 0.55 * cone) * settling + 8, gray, gray]

    return change


def clouds(scene, random):
    """Soft shadows that drift."""
    height, width = scene.height, scene.width
    wide = 3 * width
    blur = cv2.GaussianBlur(random.standard_normal((height // 4, wide // 4)).astype(numpy.float32), (0, 0), width / 32)
    blur = cv2.resize((blur - blur.min()) / (blur.max() - blur.min()), (wide, height))
    shades = 1 - 0.5 * numpy.clip(3 * blur - 1, 0, 1)

    def change(n, planes):
        x = round((1 + triangle(n / 6000)) * width * 0.999)
        return [planes[0] * shades[:, x : x + width], *planes[1:]]

    return change


def flicker(hertz, depth):
    """Lamps at the mains, seen by a rolling shutter: `hertz` is twice the mains' frequency."""

    def make(scene, random):
        def change(n, planes):
            rows = numpy.arange(scene.height, dtype=numpy.float32) / scene.height
            phase = 2 * pi * hertz * (n + 0.7 * rows) / RATE
            return [planes[0] * (1 + depth * numpy.sin(phase))[:, None], *planes[1:]]

        return change

    return make


def leaves(amplitude):
    """Foliage that sways in gusts: a part of the frame, each branch in its own phase."""

    def make(scene, random):
        height, width, unit = scene.height, scene.width, scene.unit
        y, x = numpy.indices((height, width), numpy.float32)
        inside = (((x - 0.55 * width) / (0.24 * width)) ** 2 + ((y - 0.42 * height) / (0.42 * height)) ** 2) < 1
        weight = cv2.GaussianBlur(inside.astype(numpy.float32), (0, 0), 8 * unit) * amplitude * unit
        shape = height // 8, width // 8
        waves = []
        for _ in range(2):
            phase = cv2.GaussianBlur(random.standard_normal(shape).astype(numpy.float32), (0, 0), 3)
            phase = cv2.resize(phase / phase.std() * 2.5, (width, height), interpolation=cv2.INTER_CUBIC)
            waves.append((numpy.sin(phase), numpy.cos(phase)))

        def sway(wave, t, hertz):
            sine, cosine = wave
            return sine * cos(2 * pi * hertz * t) + cosine * sin(2 * pi * hertz * t)

        def change(n, planes):
            t = n / RATE
            gust = weight * (0.6 + 0.4 * sin(2 * pi * t / 9.7))
            to_x = x + gust * sway(waves[0], t, 0.9)
            to_y = y + 0.5 * gust * sway(waves[1], t, 1.3)
            luma = cv2.remap(planes[0], to_x, to_y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
            half = to_x[::2, ::2] / 2, to_y[::2, ::2] / 2
            return [luma, *(cv2.remap(p, *half, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE) for p in planes[1:])]

        return change

    return make


def rain(drops):
    """Streaks at other places in each frame, as drops fall farther than they are long."""

    def make(scene, random):
        def change(n, planes):
            layer = numpy.zeros((scene.height, scene.width), numpy.float32)
            count = random.poisson(drops)
            places = random.uniform(0, 1, (count, 2)) * (scene.width, scene.height)
            lengths, lights = random.uniform(6, 22, count) * scene.unit, random.uniform(10, 60, count)
            for (left, top), length, light in zip(places, lengths, lights):
                end = round(left + 0.12 * length), round(top + length)
                cv2.line(layer, (round(left), round(top)), end, float(light), max(1, round(scene.unit * light / 50)))
            return [planes[0] + cv2.GaussianBlur(layer, (0, 0), 0.6), *planes[1:]]

        return change

    return make


def snow(flakes):
    """Flakes that fall with a drift, each seen for many frames."""

    def make(scene, random):
        size = numpy.array([scene.width, scene.height])
        place = random.uniform(0, 1, (flakes, 2)) * size
        speed = random.uniform((-1, 2), (2, 7), (flakes, 2)) * scene.unit
        radius = random.uniform(0.5, 2.2, flakes) * scene.unit

        def change(n, planes):
            nonlocal place
            place = (place + speed + random.normal(0, 0.6, place.shape) * scene.unit) % size
            layer = numpy.zeros((scene.height, scene.width), numpy.float32)
            for (x, y), r in zip(place, radius):
                # Sixteenths of a sample.
                cv2.circle(layer, (int(16 * x), int(16 * y)), int(16 * r), 1.0, -1, cv2.LINE_AA, 4)
            share = cv2.GaussianBlur(layer, (0, 0), 0.7) * 0.7
            return [planes[0] * (1 - share) + 235 * share, *planes[1:]]

        return change

    return make


def breathing(scene, random):
    """An autofocus that hunts each six seconds: the picture grows by up to a hundredth, and is blurred."""
    size = scene.width, scene.height

    def change(n, planes):
        t = n / RATE % 6
        if t > 1.6:
            return planes
        swing = sin(pi * t / 1.6) ** 2
        matrix = camera_matrix(lambda _: (0, 0, 1 + 0.01 * swing, 0), n, scene.unit, size, size)
        luma = warped(planes[0], matrix, size)
        if swing > 0.02:
            luma = cv2.GaussianBlur(luma, (0, 0), 0.3 + 1.7 * scene.unit * swing)
        half = scene.width // 2, scene.height // 2
        return [luma, *(warped(plane, for_chroma(matrix), half) for plane in planes[1:])]

    return change


def sensor(sigma):
    """White noise, of half the deviation in chroma."""

    def make(scene, random):
        # What is added is a stretch at a random place of much noise: it does not come again at the same place in a lifetime.
        luma = scene.width * scene.height
        much = random.standard_normal(9 * luma, numpy.float32) * numpy.float32(sigma)

        def change(n, planes):
            made = []
            for plane, share in zip(planes, (1, 0.5, 0.5)):
                at = random.integers(0, len(much) - plane.size)
                made.append(plane + numpy.float32(share) * much[at : at + plane.size].reshape(plane.shape))
            return made

        return change

    return make
