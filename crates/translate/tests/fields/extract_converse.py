"""Writes the objects of Bedrock's responses and events from the service model of botocore: python extract_converse.py MODEL."""

import json
import sys
from pathlib import Path

shapes = json.loads(Path(sys.argv[1]).read_text())["shapes"]
FOLDER = Path(__file__).parent


def used(shape):
    """The object that a value is, or that its elements are."""
    kind = shapes[shape]["type"]
    if kind == "list":
        inner = used(shapes[shape]["member"]["shape"])
        return inner and inner + "[]"
    is_object = kind == "structure" and shapes[shape].get("members")
    return shape if is_object else None


def write(name, root, change=lambda objects: objects):
    objects, waiting = {}, [root]
    while waiting:
        shape = waiting.pop()
        if shape in objects:
            continue
        members = shapes[shape]["members"]
        objects[shape] = {member: used(value["shape"]) for member, value in members.items()}
        waiting += [use.rstrip("[]") for use in objects[shape].values() if use]
    lines = ["# botocore 1.44.8, bedrock-runtime", f"root {root}"]
    for shape, members in sorted(change(objects).items()):
        lines.append(shape)
        lines += [f"  {member} {use}" if use else f"  {member}" for member, use in sorted(members.items())]
    (FOLDER / f"{name}.types").write_text("\n".join(lines) + "\n")


def with_one_error(objects):
    """The framing gives all errors one name, with their type beside the message."""
    events = objects["ConverseStreamOutput"]
    errors = [event for event in events if event.endswith("Exception")]
    members = {"type": None}
    for error in errors:
        members |= objects.pop(events.pop(error))
    events["error"] = "StreamError"
    objects["StreamError"] = members
    return objects


write("converse_response", "ConverseResponse")
write("converse_events", "ConverseStreamOutput", with_one_error)
