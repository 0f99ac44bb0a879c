"""Tests of image edits with the OpenAI SDK."""

import base64
import urllib.request

import openai
from openai.types import ImagesResponse

from demo import IMAGE, LARGE, PNG, async_openai_client, marked, openai_client, received, received_body, simulate
from runner import case, cases, contains, equal, holds, raised

client = openai_client()
PROMPT = "Open the gate"
PICTURE = base64.b64decode(PNG)
# Bytes that a careless form encoder would get wrong.
AWKWARD = b"\x89PNG\r\n--\r\n\r\n\x00\xff--headgate--\r\n"
ONE = ("gate.png", PICTURE, "image/png")
MODEL = "sim-image-2026-06"


def edit(client=client, image=ONE, model=IMAGE, **options):
    return client.images.edit(image=image, prompt=PROMPT, model=model, **options)


def edit_json(client=client, model=IMAGE, extra_headers=None, **fields):
    images = [{"image_url": f"data:image/png;base64,{PNG}"}]
    body = {"model": model, "prompt": PROMPT, "images": images, **fields}
    return client.post("/images/edits", cast_to=ImagesResponse, body=body, options={"headers": extra_headers or {}})


def is_picture(base64_text):
    return base64.b64decode(base64_text).startswith(b"\x89PNG\r\n\x1a\n")


BOTH = {"form": (edit,), "json": (edit_json,)}


@cases(**BOTH)
def an_image_is_edited(call):
    answer = call(n=2, size="1024x1024", quality="low", background="transparent")
    equal("images", len(answer.data), 2)
    holds("each is a picture", all(is_picture(image.b64_json) for image in answer.data))
    echoes = (answer.size, answer.quality, answer.background, answer.output_format)
    equal("echoes", echoes, ("1024x1024", "low", "transparent", "png"))
    holds("created is a time", answer.created > 1_700_000_000, answer.created)


@cases(**BOTH)
def usage_is_told_with_all_its_details(call):
    usage = call().usage
    details = usage.input_tokens_details
    equal("input", details.text_tokens + details.image_tokens, usage.input_tokens)
    equal("total", usage.input_tokens + usage.output_tokens, usage.total_tokens)
    holds("the output has details, if only zeros", usage.output_tokens_details is not None, usage)


@case
def several_images_and_a_mask_arrive_as_they_are():
    mark, headers = marked()
    images = [ONE, ("odd.png", AWKWARD, "image/png"), ("third.webp", PICTURE, "image/webp")]
    edit(image=images, mask=("mask.png", PICTURE, "image/png"), user="gate keeper", extra_headers=headers)
    (record,) = received(mark)
    body = record["body"]
    equal("pictures", body.count(PICTURE), 3)
    equal("the odd one", body.count(AWKWARD), 1)
    for text in (b'name="mask"', b'filename="odd.png"', b"gate keeper", PROMPT.encode(), MODEL.encode()):
        contains("form", body, text)
    holds("the caller's model is gone", IMAGE.encode() not in body, body[:200])


@case
def ten_megabytes_arrive_as_they_are():
    mark, headers = marked()
    large = PICTURE + AWKWARD * 330_000
    edit(image=("large.png", large, "image/png"), extra_headers=headers)
    (record,) = received(mark)
    equal("pictures", record["body"].count(large), 1)


@case
def json_arrives_with_only_its_model_renamed():
    mark, headers = marked()
    edit_json(quality="high", x_vendor={"n": 1}, extra_headers=headers)
    body = received_body(mark)
    equal("model", body["model"], MODEL)
    equal("picture", body["images"], [{"image_url": f"data:image/png;base64,{PNG}"}])
    equal("rest", (body["quality"], body["x_vendor"]), ("high", {"n": 1}))


@case
def partial_images_come_before_the_whole():
    events = list(edit(stream=True, partial_images=2))
    kinds = [event.type for event in events]
    equal("events", kinds, [*["image_edit.partial_image"] * 2, "image_edit.completed"])
    equal("indices", [event.partial_image_index for event in events[:2]], [0, 1])
    holds("the last is a picture", is_picture(events[-1].b64_json))
    holds("usage is told", events[-1].usage.total_tokens > 0, events[-1].usage)


@case
async def the_asynchronous_client_streams_the_same_events():
    async with async_openai_client() as client:
        whole = await edit(client)
        stream = await edit(client, stream=True, partial_images=1)
        kinds = [event.type async for event in stream]
    holds("the answer is a picture", is_picture(whole.data[0].b64_json))
    equal("events", kinds, ["image_edit.partial_image", "image_edit.completed"])


@cases(**BOTH)
def a_response_format_that_the_channel_refuses_is_the_gateways_affair(call):
    answer = call(response_format="b64_json")
    holds("the answer is a picture", is_picture(answer.data[0].b64_json))


@cases(**BOTH)
def an_image_in_base64_is_had_by_its_url(call):
    for image in call(response_format="url", n=2).data:
        equal("base64", image.b64_json, None)
        with urllib.request.urlopen(image.url) as response:
            equal("type", response.headers["content-type"], "image/png")
            holds("the download is a picture", response.read().startswith(b"\x89PNG\r\n\x1a\n"))


@case
def an_image_is_edited_by_the_id_of_its_file():
    file = client.files.create(file=("gate.png", PICTURE, "image/png"), purpose="vision")
    mark, headers = marked()
    answer = edit_json(images=[{"file_id": file.id}], extra_headers=headers)
    holds("the answer is a picture", is_picture(answer.data[0].b64_json))
    (record,) = received(mark)
    contains("content", record["body"], PNG.encode())
    client.files.delete(file.id)
    error = raised(openai.NotFoundError, lambda: edit_json(images=[{"file_id": file.id}]))
    equal("code", error.code, "id_not_found")


@case
def a_stream_has_no_urls():
    answer = client.images.with_raw_response.edit(
        image=ONE, prompt=PROMPT, model=IMAGE, response_format="url", stream=True
    )
    equal("ignored", answer.headers["x-headgate-ignored"], "response_format")


@cases(
    partial_images=({"partial_images": 4, "stream": True}, "partial_images"),
    count=({"n": 11}, "n"),
    prompt=({"prompt": ""}, "prompt"),
    no_images=({"images": []}, "images"),
)
def what_the_protocol_does_not_take_is_refused_by_name(fields, param):
    mark, headers = marked()
    error = raised(openai.BadRequestError, lambda: edit_json(**fields, extra_headers=headers))
    equal("param", error.param, param)
    equal("requests", received(mark), [])


@cases(**BOTH)
def a_wrong_key_is_an_authentication_error(call):
    error = raised(openai.AuthenticationError, lambda: call(openai_client("sk-wrong")))
    equal("code", error.code, "invalid_api_key")


@cases(**{f"{name}_{model}": (call, model) for name, (call,) in BOTH.items() for model in ("demo-imago", LARGE)})
def a_model_that_edits_no_images_is_not_found(call, model):
    error = raised(openai.NotFoundError, lambda: call(model=model))
    equal("code", error.code, "model_not_found")
    contains("message", error.message, model)


@cases(**BOTH)
def what_a_provider_refuses_keeps_its_status(call):
    error = raised(openai.RateLimitError, lambda: call(extra_headers=simulate("status=429")))
    equal("status", error.status_code, 429)


@cases(**BOTH)
def an_edit_that_failed_at_the_provider_is_never_sent_again(call):
    mark, headers = marked("status=500")
    error = raised(openai.InternalServerError, lambda: call(extra_headers=headers))
    holds("status", error.status_code >= 500, error.status_code)
    equal("requests", len(received(mark)), 1)


@cases(**BOTH)
def a_retry_of_the_sdk_gets_the_answer_of_its_first_try(call):
    mark, headers = marked("delay=2500ms")
    # The first try times out, and the SDK builds the form of the second one with a new boundary.
    impatient = openai_client(max_retries=3, timeout=1)
    answer = call(impatient, extra_headers={**headers, "Idempotency-Key": mark})
    holds("it is a picture", is_picture(answer.data[0].b64_json))
    equal("edits at the provider", len(received(mark)), 1)
