"""Tests of cancels with the vendors' SDKs: queued tasks are cancelled, and the record of an ended task is kept."""

import volcenginesdkarkruntime._exceptions as ark
from dashscope import VideoSynthesis

from demo import VIDEO_A, VIDEO_B, ark_client, generic_video, generic_video_task, simulate, until
from runner import case, contains, equal, raised

tasks = ark_client().content_generation.tasks
PROMPT = "A gate opens"
WAITS = simulate("queue=10m")
QUICK = simulate("queue=1ms; run=1ms")


def create_a(headers):
    content = [{"type": "text", "text": PROMPT}]
    return tasks.create(model=VIDEO_A, content=content, extra_headers=headers).id


def create_b(headers):
    return VideoSynthesis.async_call(model=VIDEO_B, prompt=PROMPT, headers=headers).output.task_id


def is_done(id):
    return generic_video_task(id)["status"] == "succeeded"


@case
def a_task_of_family_a_that_waits_is_cancelled():
    id = create_a(WAITS)
    tasks.delete(task_id=id)
    equal("status", tasks.get(task_id=id).status, "cancelled")
    equal("generic status", generic_video_task(id)["status"], "cancelled")


@case
def a_task_of_family_a_that_is_done_stays():
    id = create_a(QUICK)
    until("the video", lambda: is_done(id))
    error = raised(ark.ArkConflictError, lambda: tasks.delete(task_id=id))
    equal("code", error.code, "task_not_cancellable")
    equal("status", tasks.get(task_id=id).status, "succeeded")


@case
def a_task_of_family_b_that_waits_is_cancelled():
    id = create_b(WAITS)
    equal("answer", VideoSynthesis.cancel(id).status_code, 200)
    equal("status", VideoSynthesis.fetch(id).output.task_status, "CANCELED")
    equal("generic status", generic_video_task(id)["status"], "cancelled")


@case
def a_task_of_family_b_that_is_done_stays():
    id = create_b(QUICK)
    until("the video", lambda: is_done(id))
    answer = VideoSynthesis.cancel(id)
    equal("answer", (answer.status_code, answer.code), (409, "UnsupportedOperation"))
    equal("status", VideoSynthesis.fetch(id).output.task_status, "SUCCEEDED")


@case
def an_id_that_is_none_here_cannot_be_cancelled():
    error = raised(ark.ArkNotFoundError, lambda: tasks.delete(task_id="cgt-20260606160057-6bbjd"))
    equal("code", error.code, "id_not_found")
    other = generic_video(VIDEO_A, prompt=PROMPT)["task_id"]
    answer = VideoSynthesis.cancel(other)
    equal("answer", (answer.status_code, answer.code), (404, "NotFound"))
    contains("status", ("queued", "running", "succeeded"), generic_video_task(other)["status"])
