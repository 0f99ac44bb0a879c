"""Tests of video tasks of family A with the vendor's SDK, of which only the base URL is set."""

import volcenginesdkarkruntime._exceptions as ark

from demo import (
    PNG,
    VIDEO_A,
    VIDEO_B,
    ark_client,
    async_ark_client,
    generic_video,
    generic_video_task,
    marked,
    received,
    received_body,
    simulate,
    until,
)
from runner import case, cases, contains, equal, holds, raised

tasks = ark_client().content_generation.tasks
TEXT = {"type": "text", "text": "A gate opens"}
QUICK = "queue=50ms; run=50ms"


def create(tasks=tasks, model=VIDEO_A, content=(TEXT,), **options):
    return tasks.create(model=model, content=list(content), **options)


def image(url, role):
    return {"type": "image_url", "image_url": {"url": url}, "role": role}


def ended(id):
    def look():
        task = tasks.get(task_id=id)
        return task if task.status not in ("queued", "running") else None

    return until("the end of the task", look)


@case
def a_video_is_made_waited_for_and_told():
    made = create(duration=5, ratio="16:9", extra_headers=simulate(QUICK))
    contains("id", made.id, "task_")
    task = ended(made.id)
    equal("status", task.status, "succeeded")
    equal("id and model", (task.id, task.model), (made.id, VIDEO_A))
    contains("video", task.content.video_url, ".mp4")
    equal("duration and ratio", (task.duration, task.ratio), (5, "16:9"))
    holds("tokens are counted", task.usage.completion_tokens > 0, task.usage)
    holds("times are seconds", 1_700_000_000 < task.created_at <= task.updated_at < 10_000_000_000, task)


@case
async def the_asynchronous_client_sees_the_same_task():
    async with async_ark_client() as client:
        made = await create(client.content_generation.tasks, extra_headers=simulate(QUICK))
        seen = await client.content_generation.tasks.get(task_id=made.id)
    equal("id", seen.id, made.id)
    contains("status", ("queued", "running", "succeeded"), seen.status)


@case
def the_generic_protocol_tells_of_the_same_task():
    made = create(resolution="720p", extra_headers=simulate(QUICK))
    native = ended(made.id)
    generic = generic_video_task(made.id)
    equal("status", generic["status"], "succeeded")
    equal("video", generic["video_url"], native.content.video_url)
    equal("milliseconds", generic["created"], native.created_at * 1000)
    equal("resolution", generic["resolution"], "720p")


@case
def a_task_of_the_generic_protocol_is_one_for_the_sdk():
    id = generic_video(VIDEO_A, prompt="A gate opens", duration=4)["task_id"]
    task = tasks.get(task_id=id)
    equal("id and model", (task.id, task.model), (id, VIDEO_A))


@case
def a_provider_gets_what_was_written_and_its_own_model():
    mark, headers = marked(QUICK)
    content = [
        TEXT,
        image(f"data:image/png;base64,{PNG}", "first_frame"),
        image("https://media.example/last.png", "last_frame"),
    ]
    create(content=content, priority=3, watermark=True, extra_headers=headers)
    (record,) = received(mark)
    body = received_body(mark)
    equal("content", body["content"], content)
    equal("priority", body["priority"], 3)
    equal("model", body["model"], "sim-video-2-0-260128")
    equal("credential", record["headers"]["authorization"], "Bearer sk-simulated-video-a")


@case
def a_task_that_failed_says_why():
    made = create(extra_headers=simulate(f"{QUICK}; ends=failed"))
    task = ended(made.id)
    equal("status", task.status, "failed")
    holds("the error has a code and words", bool(task.error.code and task.error.message), task.error)


@case
def a_task_that_expired_is_told_as_such():
    made = create(extra_headers=simulate(f"{QUICK}; ends=expired"))
    equal("status", ended(made.id).status, "expired")


@cases(
    unknown=(lambda: "task_never-made-here",),
    the_providers_own=(lambda: "cgt-20260606160057-6bbjd",),
    of_the_other_family=(lambda: generic_video(VIDEO_B, prompt="A gate opens")["task_id"],),
)
def an_id_that_is_none_of_this_family_here_is_not_found(id):
    error = raised(ark.ArkNotFoundError, lambda: tasks.get(task_id=id()))
    equal("code", error.code, "id_not_found")


@cases(
    duration=({"duration": 99}, "duration"),
    resolution=({"resolution": "8k"}, "resolution"),
    ratio=({"ratio": "5:1"}, "ratio"),
    priority=({"priority": 10}, "priority"),
    roles=({"content": [image("https://media.example/a.png", "last_frame")]}, "content"),
)
def what_the_generation_does_not_take_is_refused_by_name(options, param):
    error = raised(ark.ArkBadRequestError, lambda: create(**options))
    equal("code", error.code, "invalid_value")
    contains("parameter", error.param, param)


@case
def a_wrong_key_is_an_authentication_error():
    wrong = ark_client("sk-wrong").content_generation.tasks
    for call in (lambda: create(wrong), lambda: wrong.get(task_id="task_x")):
        error = raised(ark.ArkAuthenticationError, call)
        equal("code", error.code, "AuthenticationError")


@cases(unknown=("demo-video-z",), of_the_other_family=(VIDEO_B,))
def a_model_that_is_none_here_is_refused_with_its_name(model):
    mark, headers = marked()
    error = raised(ark.ArkNotFoundError, lambda: create(model=model, extra_headers=headers))
    contains("message", error.message, model)
    equal("requests", received(mark), [])


@cases(**{str(status): (status, kind) for status, kind in {
    400: ark.ArkBadRequestError, 429: ark.ArkRateLimitError}.items()})
def what_a_provider_refuses_keeps_its_status(status, kind):
    mark, headers = marked(f"status={status}")
    error = raised(kind, lambda: create(extra_headers=headers))
    equal("status", error.status_code, status)
    equal("requests", len(received(mark)), 1)


@case
def a_create_that_may_have_arrived_is_never_sent_again():
    mark, headers = marked("cut")
    error = raised(ark.ArkInternalServerError, lambda: create(extra_headers=headers))
    equal("status and code", (error.status_code, error.code), (504, "outcome_unknown"))
    equal("requests", len(received(mark)), 1)


@case
def a_list_of_tasks_is_refused_with_words():
    error = raised(ark.ArkNotFoundError, lambda: tasks.list(page_num=1, page_size=10, status="running"))
    contains("message", error.message, "lists of tasks are not offered")


@case
def a_draft_names_the_generation_that_makes_drafts():
    mark, headers = marked()
    error = raised(ark.ArkBadRequestError, lambda: create(draft=True, extra_headers=headers))
    contains("message", error.message, "1.5 Pro")
    equal("requests", received(mark), [])
