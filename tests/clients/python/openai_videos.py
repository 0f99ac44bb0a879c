"""Tests of OpenAI's video API, with models of both families."""

import openai
from openai import OpenAI

from demo import BASE_URL, KEY, VIDEO_A, VIDEO_B, generic_video_task, simulate, until
from runner import case, contains, equal, raised

videos = OpenAI(base_url=f"{BASE_URL}/v1", api_key=KEY, max_retries=0).videos
PROMPT = "A gate opens"
QUICK = simulate("queue=1ms; run=1ms")
LONG = simulate("queue=1ms; run=10m")


def completed(id):
    until("the video", lambda: generic_video_task(id)["status"] == "succeeded")
    return videos.retrieve(id)


@case
def a_video_of_each_family_is_made_downloaded_and_deleted():
    for model in (VIDEO_A, VIDEO_B):
        made = videos.create(model=model, prompt=PROMPT, seconds="5", size="1280x720", extra_headers=QUICK)
        equal("object", made.object, "video")
        video = completed(made.id)
        equal("video", (video.status, video.progress, video.seconds, video.size), ("completed", 100, "5", "1280x720"))
        equal("file", videos.download_content(made.id).read()[4:8], b"ftyp")
        equal("deleted", videos.delete(made.id).deleted, True)
        raised(openai.NotFoundError, lambda: videos.retrieve(made.id))


@case
def a_video_is_created_and_polled():
    video = videos.create_and_poll(model=VIDEO_A, prompt=PROMPT, seconds="4", extra_headers=QUICK)
    equal("status", video.status, "completed")


@case
def a_running_video_is_neither_downloaded_nor_deleted():
    made = videos.create(model=VIDEO_A, prompt=PROMPT, extra_headers=LONG)
    until("the start", lambda: videos.retrieve(made.id).status == "in_progress")
    equal("download", raised(openai.BadRequestError, lambda: videos.download_content(made.id)).code, "video_not_ready")
    equal("delete", raised(openai.ConflictError, lambda: videos.delete(made.id)).code, "task_not_cancellable")


@case
def a_create_that_no_model_can_make_names_the_field():
    error = raised(openai.BadRequestError, lambda: videos.create(model=VIDEO_A, prompt=PROMPT, seconds="99"))
    equal("param", error.param, "seconds")
    contains("message", error.message, "`seconds`")
