"""Tests of video tasks of family B with the vendor's SDK, of which only the base URL is set."""

from dashscope import ImageSynthesis, VideoSynthesis
from dashscope.api_entities.aio_session import close_shared_aio_session
from dashscope.aigc.video_synthesis import AioVideoSynthesis

from demo import (
    VIDEO_A,
    VIDEO_B,
    VIDEO_B_2,
    generic_video,
    generic_video_task,
    marked,
    received,
    received_body,
    simulate,
    until,
)
from runner import case, cases, contains, equal, holds

QUICK = "queue=50ms; run=50ms"
PROMPT = "A gate opens"


def create(model=VIDEO_B, prompt=PROMPT, **options):
    return VideoSynthesis.async_call(model=model, prompt=prompt, **options)


def ended(id):
    def look():
        told = VideoSynthesis.fetch(id)
        return told if told.output.task_status not in ("PENDING", "RUNNING") else None

    return until("the end of the task", look)


def refused(answer, status, code):
    equal("status", answer.status_code, status)
    equal("code", answer.code, code)
    holds("there is a request id", bool(answer.request_id), answer)
    return answer


@case
def a_video_is_made_waited_for_and_told():
    made = create(duration=5, resolution="1080P", headers=simulate(QUICK))
    equal("status of the create", (made.status_code, made.output.task_status), (200, "PENDING"))
    contains("id", made.output.task_id, "task_")
    done = VideoSynthesis.wait(made)
    equal("status", done.output.task_status, "SUCCEEDED")
    equal("id", done.output.task_id, made.output.task_id)
    contains("video", done.output.video_url, ".mp4")
    equal("usage", (done.usage.video_count, done.usage["output_video_duration"]), (1, 5))


@case
def one_call_makes_and_waits():
    done = VideoSynthesis.call(model=VIDEO_B, prompt=PROMPT, headers=simulate("queue=1ms; run=1ms"))
    equal("status", done.output.task_status, "SUCCEEDED")
    contains("video", done.output.video_url, ".mp4")


@case
async def the_asynchronous_client_sees_the_same_task():
    made = await AioVideoSynthesis.async_call(model=VIDEO_B, prompt=PROMPT, headers=simulate(QUICK))
    seen = await AioVideoSynthesis.fetch(made)
    equal("id", seen.output.task_id, made.output.task_id)
    contains("status", ("PENDING", "RUNNING", "SUCCEEDED"), seen.output.task_status)
    await close_shared_aio_session()


@case
def the_generic_protocol_tells_of_the_same_task():
    made = create(resolution="720P", headers=simulate(QUICK)).output.task_id
    native = ended(made)
    generic = generic_video_task(made)
    equal("status", generic["status"], "succeeded")
    equal("video", generic["video_url"], native.output.video_url)
    equal("resolution", generic["resolution"], "720p")
    holds("times are milliseconds", generic["created"] > 1_700_000_000_000, generic)


@case
def a_task_of_the_generic_protocol_is_one_for_the_sdk():
    id = generic_video(VIDEO_B, prompt=PROMPT, duration=4)["task_id"]
    told = VideoSynthesis.fetch(id)
    equal("id", told.output.task_id, id)
    equal("prompt", told.output["orig_prompt"], PROMPT)


@case
def a_provider_gets_what_was_written_and_its_own_model():
    mark, headers = marked(QUICK)
    media = [{"type": "first_frame", "url": "https://media.example/first.png"}]
    made = create(media=media, seed=7, watermark=True, headers=headers)
    equal("status", made.status_code, 200)
    (record,) = received(mark)
    body = received_body(mark)
    equal("media", body["input"]["media"], media)
    equal("parameters", body["parameters"], {"seed": 7, "watermark": True})
    equal("model", body["model"], "sim-video-3-0")
    equal("credential", record["headers"]["authorization"], "Bearer sk-simulated-video-b")
    equal("asynchronous", record["headers"]["x-dashscope-async"], "enable")


@case
def a_task_that_failed_says_why():
    made = create(headers=simulate(f"{QUICK}; ends=failed"))
    done = ended(made.output.task_id)
    equal("status", done.output.task_status, "FAILED")
    holds("it has a code and words", bool(done.output["code"] and done.output["message"]), done.output)


@cases(
    unknown=(lambda: "task_never-made-here",),
    the_providers_own=(lambda: "af242c7a-dbf6-4c60-8af2-00000000000a",),
    of_the_other_family=(lambda: generic_video(VIDEO_A, prompt=PROMPT)["task_id"],),
)
def an_id_that_is_none_of_this_family_here_is_not_found(id):
    refused(VideoSynthesis.fetch(id()), 404, "NotFound")


@cases(
    duration=({"duration": 99}, "duration"),
    resolution=({"resolution": "4K"}, "resolution"),
    ratio=({"ratio": "21:9"}, "ratio"),
    seed=({"seed": 2**31}, "seed"),
    media=({"media": [{"type": "last_frame", "url": "https://media.example/a.png"}]}, "last_frame"),
)
def what_the_generation_does_not_take_is_refused_by_name(options, words):
    mark, headers = marked()
    answer = refused(create(**options, headers=headers), 400, "InvalidParameter")
    contains("message", answer.message, words)
    equal("requests", received(mark), [])


@case
def a_wrong_key_is_refused():
    refused(create(api_key="sk-wrong"), 401, "InvalidApiKey")
    refused(VideoSynthesis.fetch("task_x", api_key="sk-wrong"), 401, "InvalidApiKey")


@cases(unknown=("demo-video-z",), of_the_other_family=(VIDEO_A,))
def a_model_that_is_none_here_is_refused_with_its_name(model):
    answer = refused(create(model=model), 404, "ModelNotFound")
    contains("message", answer.message, model)


@case
def a_create_that_may_have_arrived_is_never_sent_again():
    mark, headers = marked("cut")
    answer = create(headers=headers)
    equal("status", answer.status_code, 504)
    equal("requests", len(received(mark)), 1)


IMAGE = "https://media.example/first.png"
VIDEOS, FRAMES = (f"/api/v1/services/aigc/{name}/video-synthesis" for name in ("video-generation", "image2video"))


@cases(
    image=({"img_url": IMAGE, "prompt": PROMPT}, VIDEOS),
    image_alone=({"img_url": IMAGE, "prompt": None}, VIDEOS),
    frames=({"first_frame_url": IMAGE, "last_frame_url": IMAGE, "task": "image2video"}, FRAMES),
    frames_alone=({"first_frame_url": IMAGE, "prompt": None, "task": "image2video"}, FRAMES),
)
def images_by_their_urls_reach_the_path_that_the_sdk_chose(options, path):
    mark, headers = marked(QUICK)
    made = create(model=VIDEO_B_2, headers=headers, **options)
    equal("status", (made.status_code, made.message), (200, ""))
    (record,) = received(mark)
    equal("path", record["path"], path)
    sent = received_body(mark)
    urls = {name: url for name, url in options.items() if name.endswith("_url")}
    equal("urls", {name: sent["input"].get(name) for name in urls}, urls)
    equal("model", sent["model"], "sim-video-2-2")
    equal("end", ended(made.output.task_id).output.task_status, "SUCCEEDED")


@case
async def the_asynchronous_client_sends_frames_too():
    mark, headers = marked(QUICK)
    made = await AioVideoSynthesis.async_call(
        model=VIDEO_B_2, prompt=PROMPT, first_frame_url=IMAGE, task="image2video", headers=headers
    )
    equal("status", made.status_code, 200)
    (record,) = received(mark)
    equal("path", record["path"], FRAMES)
    await close_shared_aio_session()


@cases(
    image=({"img_url": IMAGE}, "input.media"),
    frames=({"first_frame_url": IMAGE, "last_frame_url": IMAGE, "task": "image2video"}, "input.media"),
    too_long=(
        {"media": [{"type": "reference_video", "url": "https://media.example/v.mp4"}], "duration": 30},
        "input and output",
    ),
)
def what_generation_three_does_not_take_is_told_with_what_to_do(options, words):
    mark, headers = marked()
    answer = refused(create(**options, headers=headers), 400, "InvalidParameter")
    contains("message", answer.message, words)
    equal("requests", received(mark), [])


@case
def a_list_of_tasks_is_refused_with_words():
    answer = refused(VideoSynthesis.list(), 404, "NotFound")
    contains("message", answer.message, "lists of tasks are not offered")


@case
def what_the_family_has_and_the_gateway_has_not_is_refused_in_its_shape():
    answer = ImageSynthesis.async_call(model=VIDEO_B_2, prompt=PROMPT)
    refused(answer, 404, "NotFound")
