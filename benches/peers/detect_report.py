"""Results of detectors of motion as rows, CSV files and tables."""

import csv

from common import PeersError
from report import markdown

# Frames until an object that is half in the frame shall be touched.
IN_TIME = 5
SCENES, OBJECTS = "detect_scenes.csv", "detect_objects.csv"
WORDS = "detector", "scene", "camera", "texture"


def camera_of(scene):
    return "still" if scene.camera is None else "moving"


def scene_row(detector, result):
    return {
        "detector": detector,
        "scene": result.scene.name,
        "camera": camera_of(result.scene),
        "objects": len(result.objects),
        "frames": result.frames,
        "alarms": result.alarms,
        "alarms_an_hour": round(result.alarms_an_hour, 1),
        "alarm_frames": result.alarm_frames,
        "begun": result.begun,
        "false_boxes": result.false_boxes,
    }


def object_rows(detector, result):
    """A row of each object that was to be found. `delay` is empty if it was not."""
    for followed in result.objects:
        thing = followed.thing
        if followed.frames:
            yield {
                "detector": detector,
                "scene": result.scene.name,
                "camera": camera_of(result.scene),
                "noise": result.scene.noise,
                "size": thing.size,
                "speed": thing.speed,
                "contrast": thing.contrast,
                "measured_contrast": round(float(thing.measured_contrast), 1),
                "texture": thing.texture,
                "first_frame": followed.first,
                "frames": followed.frames,
                "fits": followed.fits,
                "touches": followed.touches,
                "delay": followed.delay,
                "ids": len(followed.ids),
            }


def write(folder, scenes, objects):
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in ((SCENES, scenes), (OBJECTS, objects)):
        if rows:
            with open(folder / name, "w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, rows[0])
                writer.writeheader()
                writer.writerows(rows)


def read(folder):
    """The rows of an earlier run."""
    try:
        return [[typed(row) for row in csv.DictReader(open(folder / name, encoding="utf-8"))] for name in (SCENES, OBJECTS)]
    except (OSError, ValueError) as error:
        raise PeersError(f"{folder} holds no earlier results: {error}") from error


def typed(row):
    return {key: value if key in WORDS else float(value) if value else None for key, value in row.items()}


def significant(value):
    return "0" if value == 0 else f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def still_table(rows, detectors):
    """Alarms an hour, and the share of frames in alarm, of each scene that all detectors have seen."""
    cells = {(row["detector"], row["scene"]): row for row in rows if not row["objects"]}
    scenes = list(dict.fromkeys(scene for _, scene in cells))
    scenes = [scene for scene in scenes if all((name, scene) in cells for name in detectors)]
    lines, quiet = [], dict.fromkeys(detectors, 0)
    for scene in scenes:
        line = [scene.removeprefix("still: ")]
        for name in detectors:
            row = cells[name, scene]
            quiet[name] += row["alarms"] == 0
            line.append(f"{significant(row['alarms_an_hour'])} ({100 * row['alarm_frames'] / row['frames']:.0f} %)")
        lines.append(line)
    lines.append(["scenes without an alarm"] + [f"{quiet[name]} of {len(scenes)}" for name in detectors])
    return markdown(["alarms an hour (frames in alarm)", *detectors], lines)


def groups(objects):
    """Names of sets of objects, and which rows are in them."""
    special = lambda row: row["scene"].startswith("special")
    clear = lambda row: not special(row) and row["size"] >= 16 and row["contrast"] >= 16
    yield "size 16 and more, contrast 16 and more", clear
    for camera in ("still", "moving"):
        yield f"the same, {camera} camera", lambda row, camera=camera: clear(row) and row["camera"] == camera
    for key in ("size", "speed", "contrast", "noise", "texture"):
        for value in sorted({row[key] for row in objects if not special(row)}):
            title = value if key == "texture" else f"{key} {value:g}"
            yield title, lambda row, key=key, value=value: not special(row) and row[key] == value
    for scene in dict.fromkeys(row["scene"] for row in objects if special(row)):
        yield scene.removeprefix("special: "), lambda row, scene=scene: row["scene"] == scene


def object_cell(rows):
    """The shares of frames that fit and touch, of objects, and of objects in time."""
    frames = sum(row["frames"] for row in rows)
    delays = [row["delay"] for row in rows if row["delay"] is not None]
    parts = [sum(row["fits"] for row in rows) / frames, sum(row["touches"] for row in rows) / frames]
    parts += [len(delays) / len(rows), sum(delay <= IN_TIME for delay in delays) / len(rows)]
    return " / ".join(f"{100 * part:.0f}" for part in parts)


def object_table(scenes, objects, detectors):
    """What was found of the objects of scenes that all detectors have seen."""
    seen = {row["scene"]: set() for row in scenes}
    for row in scenes:
        seen[row["scene"]].add(row["detector"])
    scenes, objects = ([row for row in rows if seen[row["scene"]] >= set(detectors)] for rows in (scenes, objects))
    lines = []
    for title, belongs in groups(objects):
        cells = [[row for row in objects if row["detector"] == name and belongs(row)] for name in detectors]
        if all(cells):
            lines.append([f"{title} ({len(cells[0])})", *map(object_cell, cells)])
    for camera in ("still", "moving"):
        with_objects = [row for row in scenes if row["objects"] and row["camera"] == camera]
        line = [f"false boxes in 100 frames, {camera} camera"]
        for name in detectors:
            of = [row for row in with_objects if row["detector"] == name]
            line.append(significant(100 * sum(row["false_boxes"] for row in of) / max(sum(row["frames"] for row in of), 1)))
        if with_objects:
            lines.append(line)
    return markdown([f"% of frames with IoU ≥ 0.5 / touched / of objects / in {IN_TIME} frames", *detectors], lines)
