"""Scenes for detectors of motion: frames made of real pictures, and where something moves in them.

A scene is the same in each run: what is random in it comes of its name. `frames()` makes its frames one by one, each an
array of height * 3 / 2 x width bytes (I420), and `truth(n)` says what moves in frame n. What is given in samples at
640 x 360 (camera, rain, leaves) is scaled with the height of the frame; objects are not.
"""

import zlib
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor

import av
import cv2
import numpy

from common import PeersError
from detect_effects import (
    CAMERAS,
    RATE,
    breathing,
    camera_matrix,
    clouds,
    dawn,
    flicker,
    for_chroma,
    headlights,
    infrared,
    lamp,
    leaves,
    lightning,
    local_lamp,
    pumping,
    rain,
    sensor,
    snow,
    steady,
    warped,
)

# Frames before the first object, in which a detector learns the scene.
QUIET = 75
# Pictures under the folder `shared`, the first frame of each.
PICTURES = {
    "street": "clips/street_1080p25_54f.264",
    "city": "clips/city_704x576_10f.mkv",
    "flower": "clips/flower_720p30_300f.264",
    "people": "clips/pan_solvay_1080p_40f.mkv",
    "toys": "flow/RubberWhale/frame10.png",
    "towers": "flow/Urban2/frame10.png",
    "yard": "flow/sintel/frame_0001.png",
    "paper": "flow/Venus/frame10.png",
}
SIZES, SPEEDS, CONTRASTS = (8, 16, 32, 64, 200), (0.25, 1, 4, 10, 40), (8, 16, 32, 64)


class Pictures:
    """Decodes the pictures, and keeps them at the sizes asked for."""

    def __init__(self, folder):
        self.folder, self.kept = folder, {}

    def planes(self, name, width, height):
        """Luma and chroma of the middle of a picture, as it fills a frame of that size."""
        key = name, width, height
        if key not in self.kept:
            color = self.color(name)
            rows, columns = color.shape[:2]
            scale = max(width / columns, height / rows)
            # Areas are averaged where the picture gets smaller, so that its noise and aliases go.
            method = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
            size = max(width, round(columns * scale)), max(height, round(rows * scale))
            color = cv2.resize(color, size, interpolation=method)
            x, y = (size[0] - width) // 2, (size[1] - height) // 2
            i420 = cv2.cvtColor(numpy.ascontiguousarray(color[y : y + height, x : x + width]), cv2.COLOR_BGR2YUV_I420)
            self.kept[key] = [plane.astype(numpy.float32) for plane in split(i420)]
        return self.kept[key]

    def color(self, name):
        path = self.folder / PICTURES[name]
        try:
            with av.open(str(path)) as container:
                return next(container.decode(video=0)).to_ndarray(format="bgr24")
        except (OSError, av.AVError, StopIteration) as error:
            raise PeersError(
                f"cannot read a picture from {path} ({error}): name the folder of the clips with --shared"
            ) from error


def split(i420):
    """The three planes of a frame."""
    height, width = i420.shape[0] * 2 // 3, i420.shape[1]
    flat, luma, chroma = i420.reshape(-1), height * width, height * width // 4
    half = height // 2, width // 2
    return [
        flat[:luma].reshape(height, width),
        flat[luma : luma + chroma].reshape(half),
        flat[luma + chroma :].reshape(half),
    ]


def joined(planes):
    """A frame of three planes of floats."""
    flat = numpy.concatenate([plane.reshape(-1) for plane in planes])
    numpy.clip(numpy.rint(flat, out=flat), 0, 255, out=flat)
    height, width = planes[0].shape
    return flat.astype(numpy.uint8).reshape(height * 3 // 2, width)


def encoded(frames, width, height, options):
    """What a decoder shows of the frames, one for one."""
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt = width, height, "yuv420p"
    encoder.framerate, encoder.time_base = Fraction(RATE), Fraction(1, RATE)
    encoder.options = {"preset": "veryfast", "tune": "zerolatency", "threads": "1", **options}
    decoder = av.CodecContext.create("h264", "r")
    decoder.options = {"threads": "1"}
    decoder.thread_type = "NONE"
    for index, samples in enumerate(frames):
        frame = av.VideoFrame.from_ndarray(numpy.ascontiguousarray(samples), format="yuv420p")
        frame.pts, frame.time_base = index, Fraction(1, RATE)
        for packet in encoder.encode(frame):
            for shown in decoder.decode(packet):
                yield shown.to_ndarray(format="yuv420p")
    for shown in decoder.decode(None):
        yield shown.to_ndarray(format="yuv420p")


# Objects


@dataclass
class Object:
    """A square, or an upright box, that moves in the scene. `place(n)` is its middle in samples of the scene's picture, or None
    where it is not there; `moves(n)` whether it moves in that frame."""

    size: int
    speed: float
    contrast: int
    texture: str
    place: callable
    moves: callable
    # Its width as a share of `size`, its height.
    slim: float = 1
    # Set when it is drawn first: premultiplied planes and their alphas.
    patch: list = None
    # The mean difference to what it hides, over its path.
    measured_contrast: float = 0.0

    @property
    def across(self):
        """Its width: even, as there are half as many samples of chroma."""
        return round(self.size * self.slim / 2) * 2


@dataclass
class Box:
    """Where an object is in a frame. What rests, or is mostly outside of the frame, need not be found, but may be."""

    x: float
    y: float
    width: float
    height: float
    index: int
    wanted: bool


def crossing(start, begin, velocity, frames):
    """A path of `frames` frames from `start`, from frame `begin` on; and the frames in which it moves."""
    start, velocity = numpy.array(start, float), numpy.array(velocity, float)

    def place(n):
        return start + velocity * (n - begin) if begin <= n < begin + frames else None

    return place, lambda n: begin <= n < begin + frames


def from_rest(start, begin, velocity, frames):
    """At rest until frame `begin`, and again after `frames` frames."""
    start, velocity = numpy.array(start, float), numpy.array(velocity, float)
    return (lambda n: start + velocity * min(max(n - begin, 0), frames)), (lambda n: begin < n <= begin + frames)


@dataclass
class Scene:
    """The frames of one scene, and what moves in it."""

    name: str
    picture: str
    width: int
    height: int
    count: int
    pictures: Pictures
    effects: tuple = ()
    camera: callable = None
    codec: dict = None
    objects: list = field(default_factory=list)
    noise: float = 0

    @property
    def unit(self):
        return self.height / 360

    @property
    def world(self):
        """The size of the picture: larger than the frame where the camera moves."""
        share = 1.25 if self.camera else 1
        return round(self.width * share / 2) * 2, round(self.height * share / 2) * 2

    def matrix(self, n):
        return camera_matrix(self.camera, n, self.unit, (self.width, self.height), self.world)

    def frames(self):
        made = (joined(planes) for planes in self.all_planes())
        return encoded(made, self.width, self.height, self.codec) if self.codec else made

    def all_planes(self):
        random = numpy.random.default_rng(zlib.crc32(self.name.encode()))
        world = self.pictures.planes(self.picture, *self.world)
        effects = [make(self, random) for make in self.effects]
        if self.noise:
            effects.append(sensor(self.noise)(self, random))
        for thing in self.objects:
            self.paint(thing, world, random)
        for n in range(self.count):
            matrix = self.matrix(n)
            if self.camera:
                sizes = (self.width, self.height), *((self.width // 2, self.height // 2),) * 2
                matrices = matrix, for_chroma(matrix), for_chroma(matrix)
                planes = [warped(*each) for each in zip(world, matrices, sizes)]
            elif any(thing.place(n) is not None for thing in self.objects):
                planes = [plane.copy() for plane in world]
            else:
                planes = world
            for thing in self.objects:
                if (place := thing.place(n)) is not None:
                    self.draw(planes, thing, matrix, place)
            for change in effects:
                planes = change(n, planes)
            yield planes

    def paint(self, thing, world, random):
        """Makes the object's samples: the mean of what it hides on its path, and its contrast and texture."""
        size = thing.size
        hidden = [cut for n in range(0, self.count, 4) if (cut := self.hidden(world[0], thing, n)) is not None]
        mean = numpy.mean([cut.mean() for cut in hidden]) if hidden else 128
        sign = 1 if mean + thing.contrast < 235 and (mean - thing.contrast < 20 or random.integers(2)) else -1
        luma = numpy.full((size, thing.across), mean + sign * thing.contrast, numpy.float32)
        if thing.texture == "textured":
            name = ("yard", "toys", "paper")[random.integers(3)]
            luma += self.texture(name, size, random)[:, : thing.across] * thing.contrast / 2
        half = size // 2, thing.across // 2
        chroma = [numpy.full(half, 128 + side * thing.contrast / 2, numpy.float32) for side in (sign, -sign)]
        thing.measured_contrast = numpy.mean([abs(cut - luma.mean()).mean() for cut in hidden]) if hidden else 0
        thing.patch = [self.patch(plane) for plane in (luma, *chroma)]

    def texture(self, name, size, random):
        """A part of a picture with a mean of zero and a deviation of one, at most three from zero."""
        picture = self.pictures.planes(name, 480, 360)[0]
        side = max(48, min(size, 200))
        for _ in range(20):
            x, y = random.integers(0, 480 - side), random.integers(0, 360 - side)
            part = cv2.resize(picture[y : y + side, x : x + side], (size, size), interpolation=cv2.INTER_AREA)
            if part.std() > 12:
                break
        part = (part - part.mean()) / max(part.std(), 1)
        return numpy.clip(part, -3, 3)

    @staticmethod
    def patch(plane):
        """The plane times its alpha, and its alpha: round corners, and nothing around it."""
        down, across = (numpy.abs((numpy.arange(side) + 0.5) * 2 / side - 1) ** 6 for side in plane.shape)
        alpha = numpy.clip((1.06 - down[:, None] - across[None, :]) * min(plane.shape) / 8, 0, 1).astype(numpy.float32)
        return [numpy.pad(each, 2) for each in (plane * alpha, alpha)]

    def hidden(self, luma, thing, n):
        """The samples of the picture behind an object."""
        place = thing.place(n)
        if place is None:
            return None
        left, top = (floor(c - side / 2 + 0.5) for c, side in zip(place, (thing.across, thing.size)))
        cut = luma[max(top, 0) : max(top + thing.size, 0), max(left, 0) : max(left + thing.across, 0)]
        return cut if cut.size else None

    def draw(self, planes, thing, matrix, place):
        for index, plane in enumerate(planes):
            to_world, middle = (for_chroma(matrix), (place - 0.5) / 2) if index else (matrix, place)
            colour, alpha = thing.patch[index]
            # From the frame to the patch.
            to_patch = to_world.copy()
            sides = numpy.array(alpha.shape[::-1])
            to_patch[:, 2] += (sides - 1) / 2 - middle
            corners = self.corners(to_world, middle, sides / 2)
            left, top = numpy.floor(corners.min(axis=0)).astype(int)
            right, bottom = numpy.ceil(corners.max(axis=0)).astype(int) + 1
            left, top = max(left, 0), max(top, 0)
            right, bottom = min(right, plane.shape[1]), min(bottom, plane.shape[0])
            if left >= right or top >= bottom:
                continue
            to_patch[:, 2] += to_patch[:, :2] @ [left, top]
            size, flags = (int(right - left), int(bottom - top)), cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
            share = cv2.warpAffine(alpha, to_patch, size, flags=flags)
            area = plane[top:bottom, left:right]
            area *= 1 - share
            area += cv2.warpAffine(colour, to_patch, size, flags=flags)

    @staticmethod
    def corners(to_world, middle, reach):
        """The corners of a box of the picture, in the frame. `reach` is half of its sides, or of its width and height."""
        inverse = cv2.invertAffineTransform(to_world)
        square = numpy.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * reach + middle
        return square @ inverse[:, :2].T + inverse[:, 2]

    def truth(self, n):
        """The boxes of the objects in frame n."""
        boxes, matrix = [], self.matrix(n)
        for index, thing in enumerate(self.objects):
            place = thing.place(n)
            if place is None:
                continue
            corners = self.corners(matrix, place, numpy.array([thing.across, thing.size]) / 2) + 0.5
            whole = numpy.prod(corners.max(axis=0) - corners.min(axis=0))
            low = numpy.clip(corners.min(axis=0), 0, (self.width, self.height))
            high = numpy.clip(corners.max(axis=0), 0, (self.width, self.height))
            width, height = high - low
            if width * height > 0:
                wanted = bool(thing.moves(n) and width * height >= whole / 2)
                boxes.append(Box(*low, width, height, index, wanted))
        return boxes


# The lists of scenes


def still_scenes(pictures, width, height, seconds):
    """Nothing moves in them: each alarm is false."""
    count = seconds * RATE
    make = lambda name, picture, *effects, **more: Scene(
        f"still: {name}", picture, width, height, count, pictures, effects, noise=more.pop("noise", 2), **more
    )
    yield make("noise 2", "street")
    yield make("noise 5", "city", noise=5)
    yield make("noise 10", "toys", noise=10)
    yield make("noise 10, dark", "towers", noise=10)
    yield make("x264 crf 35, GOP 25", "street", codec={"crf": "35", "g": "25"})
    yield make(
        "x264 200 kbit/s, GOP 50", "city", noise=5, codec={"b": "200000", "g": "50", "bufsize": "200000", "maxrate": "200000"}
    )
    yield make("flicker, 60 Hz mains", "toys", flicker(119.7, 0.06))
    yield make("flicker, rolling slowly", "people", flicker(100.3, 0.06))
    yield make("dawn and dusk", "street", steady(dawn))
    yield make("clouds", "street", clouds)
    yield make("lamp on and off", "toys", steady(lamp))
    yield make("lamp, local", "yard", local_lamp)
    yield make("infrared on and off", "flower", infrared)
    yield make("infrared on and off, street", "street", infrared)
    yield make("lightning", "city", lightning)
    yield make("headlights", "street", headlights)
    yield make("exposure pumping", "people", steady(pumping))
    yield make("leaves, 0.4 samples", "flower", leaves(0.4))
    yield make("leaves, 1.5 samples", "street", leaves(1.5))
    yield make("leaves, 4 samples", "flower", leaves(4))
    yield make("rain", "street", rain(60))
    yield make("rain, heavy", "yard", rain(300))
    yield make("snow", "city", snow(80))
    yield make("autofocus breathing", "toys", breathing)
    yield make("pan, slow", "street", camera=CAMERAS["pan slow"])
    yield make("pan, fast, with rests", "city", camera=CAMERAS["pan fast"])
    yield make("tilt", "people", camera=CAMERAS["tilt"])
    yield make("zoom", "yard", camera=CAMERAS["zoom"])
    yield make("rotation", "flower", camera=CAMERAS["rotation"])
    yield make("shaken, 0.15 samples", "street", camera=CAMERAS["shake small"])
    yield make("shaken by a hand", "toys", camera=CAMERAS["shake hand"])
    yield make("pan, shaken by a hand", "street", camera=CAMERAS["pan with shake"])


def long_path(scene, size, speed, random):
    """Start, velocity and number of frames of a path over the whole scene."""
    width, height = scene.world

    def one():
        velocity = direction(random) * speed
        length = int((width + size) / abs(velocity[0])) + 1
        x = -size / 2 if velocity[0] > 0 else width + size / 2
        # A camera that moves does not show what is above and below.
        half = abs(velocity[1]) * length / 2 + size / 2 + (height - scene.height) / 2
        middle = random.uniform(min(half, height / 2), max(height - half, height / 2))
        return numpy.array([x, middle - velocity[1] * length / 2]), velocity, length

    return evenest(scene, size, one)


def short_path(scene, size, speed, random, frames, quarter):
    """Start, velocity and number of frames of a path in a quarter of the frame."""
    world, frame = numpy.array(scene.world), numpy.array((scene.width, scene.height))
    corner = (world - frame) / 2 + frame / 2 * (quarter % 2, quarter // 2)

    def one():
        velocity = direction(random) * speed
        reach = abs(velocity) * frames / 2 + size / 2 + 2 * scene.unit
        low, high = corner + reach, corner + frame / 2 - reach
        middle = random.uniform(numpy.minimum(low, high), numpy.maximum(low, high))
        return middle - velocity * frames / 2, velocity, frames

    return evenest(scene, size, one)


def direction(random):
    """Left or right, and a little up or down."""
    steep = random.uniform(-0.25, 0.25)
    return numpy.array([1 if random.integers(2) else -1, steep]) / numpy.hypot(1, steep)


def evenest(scene, size, one):
    """Of some random paths, the one over the most even background, so that the contrast is what it is said to be."""
    smooth = cv2.blur(scene.pictures.planes(scene.picture, *scene.world)[0], (size, size))

    def spread(path):
        start, velocity, length = path
        places = (start + velocity * numpy.linspace(0, length, 24)[:, None]).astype(int)
        x, y = (numpy.clip(places[:, axis], 0, smooth.shape[1 - axis] - 1) for axis in (0, 1))
        return smooth[y, x].std()

    return min((one() for _ in range(30)), key=spread)


def named(scene):
    return numpy.random.default_rng(zlib.crc32(scene.name.encode()) ^ 0xFFFF)


def fast_scene(pictures, width, height, picture, texture, noise, camera, sizes, contrasts):
    """Objects that cross the scene one after the other, with two seconds between them."""
    speeds = [speed for speed in SPEEDS if speed > 1]
    # The pan is slow, so that an object of 4 samples a frame passes the camera.
    scene = Scene(
        f"objects: {texture}, noise {noise}, {camera or 'still'}, {width} x {height}", picture, width, height, 0,
        pictures, camera=CAMERAS.get(camera), noise=noise,
    )  # fmt: skip
    random, at = named(scene), QUIET
    passes = [(size, speed, contrast) for size in sizes for speed in speeds for contrast in contrasts]
    for index in random.permutation(len(passes)):
        size, speed, contrast = passes[index]
        start, velocity, length = long_path(scene, size, speed, random)
        scene.objects.append(Object(size, speed, contrast, texture, *crossing(start, at, velocity, length)))
        at += length + 2 * RATE
    scene.count = at
    return scene


def slow_scene(pictures, width, height, picture, texture, noise, camera, size, speed, contrasts):
    """Objects that rest for three seconds, then move for four: one of each contrast, each in its quarter of the frame."""
    scene = Scene(
        f"slow: size {size}, speed {speed}, {texture}, noise {noise}, {camera or 'still'}, {width} x {height}",
        picture, width, height, QUIET + 5 * RATE, pictures, camera=CAMERAS.get(camera), noise=noise,
    )  # fmt: skip
    random = named(scene)
    for quarter, contrast in zip(random.permutation(4), contrasts):
        start, velocity, length = short_path(scene, size, speed, random, 4 * RATE, quarter)
        scene.objects.append(Object(size, speed, contrast, texture, *from_rest(start, QUIET, velocity, length)))
    return scene


def special_scenes(pictures, width, height):
    """Objects while the light changes, one that stops, two that cross. Of 48 samples and a contrast of 32."""
    size, contrast, unit = 48, 32, height / 360
    make = lambda name, picture, count, *effects, **more: Scene(
        f"special: {name}, {width} x {height}", picture, width, height, count, pictures, effects, noise=2, **more
    )

    def cross(scene, begin, speed=4):
        start, velocity, length = long_path(scene, size, speed, named(scene))
        scene.objects.append(Object(size, speed, contrast, "textured", *crossing(start, begin, velocity, length)))

    # The light changes at frame 250 while the object is in the middle of its path.
    half = round(width / 4 / 2)
    for name, picture, effect in (
        ("lamp off", "toys", steady(lamp)),
        ("infrared on", "street", infrared),
        ("exposure pumping", "people", steady(pumping)),
        ("dawn", "street", steady(dawn)),
        ("rain", "street", rain(60)),
        ("leaves", "flower", leaves(1.5)),
    ):
        scene = make(f"object and {name}", picture, 250 + half + 50, effect)
        cross(scene, 250 - half)
        yield scene
    scene = make("object in compressed video", "city", 400, codec={"crf": "32", "g": "25"})
    cross(scene, QUIET)
    yield scene
    scene = make("stops and goes on", "city", 500)
    stop, rest, y = 75, 4 * RATE, 0.6 * height
    walked = lambda n: 3 * unit * (min(n - QUIET, stop) + max(n - QUIET - stop - rest, 0))
    scene.objects.append(
        Object(
            size, 3, contrast, "textured",
            lambda n: numpy.array([walked(n) - size / 2, y]) if n >= QUIET else None,
            lambda n: n >= QUIET and not QUIET + stop < n <= QUIET + stop + rest,
        )
    )  # fmt: skip
    yield scene
    scene = make("two that cross", "street", 350)
    for x, y, speed in ((-size / 2, 0.62, 3), (width + size / 2, 0.7, -3)):
        frames = int((width + size) / 3 / unit)
        walk = crossing((x, y * height), QUIET, (speed * unit, 0), frames)
        scene.objects.append(Object(size, 3, contrast, "textured", *walk))
    yield scene
    scene = make("six at once", "city", 400)
    for index, speed in enumerate((1, -1.5, 2, -2, 1.5, -1)):
        x, y = (-12 if speed > 0 else width + 12), (0.1 + 0.16 * index) * height
        walk = crossing((x, y), QUIET + 10 * index, (speed * unit, 0), 400)
        scene.objects.append(Object(24, abs(speed), contrast, "textured", *walk))
    yield scene
    yield walkers(make("walkers", "city", 500, codec={"crf": "26", "g": "50"}))


def walkers(scene):
    """People far away who cross the scene, in pairs with the same speed; some are there in the first frame."""
    random, unit = named(scene), scene.unit
    for pair in range(8):
        side = 1 if random.integers(2) else -1
        speed, y = random.uniform(0.7, 1.6), random.uniform(0.15, 0.85) * scene.height
        begin, gap = 85 * pair - 350, random.uniform(0.6, 1.6)
        for index in range(2):
            size = 2 * random.integers(10, 21)
            start = scene.width * (side < 0) - side * (8 + index * gap * size), y + index * random.uniform(-0.3, 0.3) * size
            velocity = side * speed * unit, random.uniform(-0.1, 0.1) * speed * unit
            frames = int((scene.width + 80) / speed / unit)
            walk = crossing(start, begin, velocity, frames)
            contrast = (24, 32, 48)[random.integers(3)]
            scene.objects.append(Object(int(size), speed, contrast, "textured", *walk, slim=0.4))
    return scene


def object_scenes(pictures, width, height, quick):
    """All kinds of objects over textured and flat backgrounds, with a still and with a moving camera."""
    small = height < 500
    sizes = [size for size in SIZES if size <= height / 3]
    contrasts = (16, 64) if quick or not small else CONTRASTS
    variants = [
        ("city", "textured", 2, None),
        ("street", "flat", 2, None),
        ("toys", "textured", 5, None),
        ("street", "flat", 5, None),
        ("street", "textured", 2, "pan slow"),
        ("city", "flat", 5, "shake hand"),
        ("people", "textured", 2, "pan with shake"),
    ]
    if quick or not small:
        variants = [variants[0], variants[3], variants[4]]
    for picture, texture, noise, camera in variants:
        yield fast_scene(pictures, width, height, picture, texture, noise, camera, sizes, contrasts)
    yield from special_scenes(pictures, width, height)
    for picture, texture, noise, camera in variants:
        for size in sizes:
            for speed in (speed for speed in SPEEDS if speed <= 1):
                yield slow_scene(pictures, width, height, picture, texture, noise, camera, size, speed, contrasts)


def all_scenes(pictures, seconds, quick, sizes=((640, 360),)):
    for width, height in sizes:
        if height <= 360:
            yield from still_scenes(pictures, width, height, seconds)
        yield from object_scenes(pictures, width, height, quick)
