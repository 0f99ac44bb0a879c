"""Creates of videos: the generic format, OpenAI's and a vendor's own, with polls, callbacks, files, cancels and repeated keys."""

import asyncio
import base64
import uuid

from configuration import VIDEO_FAMILIES
from file_requests import SMALL_IMAGE

GENERIC, VIDEOS, NATIVE = "/v1/video/generations", "/v1/videos", "/api/v3/contents/generations/tasks"
PROMPT = "A gate opens"
# Durations and sizes of models that do not make all of them.
SECONDS = {"of-minimax": "6", "of-kling": "5", "of-luma": "5"}
SIZES = {"of-minimax": "768p"}
ENDED = ("succeeded", "failed", "cancelled", "expired", "completed")


async def poll(caller, kind, path):
    """The task once it has ended, or None if it has not within 40 polls."""
    for _ in range(40):
        task = (await caller.call(f"{kind} polled", "GET", path)).json()
        if task["status"] in ENDED:
            return task
        await asyncio.sleep(0.4)
    return None


async def generic_video(caller):
    """A task whose caller gets callbacks and polls besides."""
    model = caller.random.choice(("demo-video-a", "demo-video-b"))
    body = {"model": model, "prompt": PROMPT, "duration": 5, "callback_url": caller.receiver.url()}
    headers = {"idempotency-key": uuid.uuid4().hex}
    task = (await caller.call("video created", "POST", GENERIC, body, headers=headers.items())).json()
    # Callbacks of family B are only the gateway's own polls, which begin a minute after the create.
    if model == "demo-video-a":
        caller.created_tasks.add(task["task_id"])
    await poll(caller, "video", f"{GENERIC}/{task['task_id']}")


async def video_with_image(caller):
    """A task whose image is stored by the gateway, or sent as it is."""
    url = "data:image/png;base64," + base64.b64encode(SMALL_IMAGE).decode()
    body = {"model": "demo-video-a", "prompt": PROMPT, "medias": [{"type": "image", "role": "first_frame", "url": url}]}
    task = (await caller.call("video with image created", "POST", GENERIC, body)).json()
    await poll(caller, "video with image", f"{GENERIC}/{task['task_id']}")


async def openai_video(caller):
    """A video of OpenAI's format: polled, downloaded, deleted."""
    model = caller.random.choice(("demo-video-a", "demo-video-b", *(f"of-{family}" for family in VIDEO_FAMILIES)))
    body = {"model": model, "prompt": PROMPT, "seconds": SECONDS.get(model, "4"), "size": SIZES.get(model, "1280x720")}
    if model == "demo-video-a":
        body["callback_url"] = caller.receiver.url()
    headers = {"idempotency-key": uuid.uuid4().hex}
    made = (await caller.call(f"videos {model} created", "POST", VIDEOS, body, headers=headers.items())).json()
    if model == "demo-video-a":
        caller.created_tasks.add(made["id"])
    path = f"{VIDEOS}/{made['id']}"
    task = await poll(caller, "videos", path)
    if task and task["status"] == "completed":
        await caller.call("videos downloaded", "GET", f"{path}/content")


async def native_video(caller):
    body = {"model": "demo-video-a", "content": [{"type": "text", "text": PROMPT}]}
    task = (await caller.call("native video created", "POST", NATIVE, body)).json()
    await poll(caller, "native video", f"{NATIVE}/{task['id']}")


async def cancelled_video(caller):
    body = {"model": "demo-video-a", "prompt": PROMPT}
    headers = {"x-simulate": "queue=20s"}
    task = (await caller.call("video to cancel created", "POST", GENERIC, body, headers=headers.items())).json()
    await caller.call("video cancelled", "DELETE", f"{GENERIC}/{task['task_id']}", expect=(200, 204))


async def repeated_create(caller):
    """Four creates with one key at once lead to one task."""
    body = {"model": "demo-video-a", "prompt": PROMPT, "duration": 5}
    headers = {"idempotency-key": uuid.uuid4().hex}
    creates = (caller.call("video, key repeated", "POST", GENERIC, body, headers=headers.items()) for _ in range(4))
    made = [it for it in await asyncio.gather(*creates, return_exceptions=True) if not isinstance(it, Exception)]
    if len({it.json()["task_id"] for it in made}) > 1:
        caller.problems.append("creates with one idempotency key led to several tasks")


# Scenario and its weight. An ended task stays in a cache of 64 MiB, with about 2 KB, so that many of them would look like a leak.
SCENARIOS = [
    (generic_video, 0.25),
    (video_with_image, 0.1),
    (openai_video, 0.25),
    (native_video, 0.1),
    (cancelled_video, 0.05),
    (repeated_create, 0.05),
]
