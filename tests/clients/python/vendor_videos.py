"""Runs videos of several vendors by OpenAI's SDK: `vendor_videos.py VENDORS_URL DEMO_URL`. The SDK is the one in PYTHONPATH,
if there is one. Prints its version; a failure is a traceback."""

import json
import sys
import time
import urllib.request

import openai

from webhook_receiver import NEW_SECRET, OTHER_SECRET, Receiver

KEY = "sk-demo"
# Family, seconds, size, and the size of the video if it is another one.
VENDORS = [
    ("minimax", "6", None, None),
    ("minimax-v2", "6", "1280x720", "1366x768"),
    ("runway", "5", "720x1280", None),
    ("luma", "5", "1280x720", None),
    ("kling", "5", "1280x720", None),
    ("fal", "8", "1280x720", None),
    ("veo", "8", "720x1280", None),
]


def client(url):
    return openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0, timeout=20)


def main(vendors_url, demo_url):
    for vendor in VENDORS:
        a_video_is_made_downloaded_and_deleted(vendors_url, *vendor)
    a_video_is_created_and_polled(vendors_url)
    what_is_not_offered_is_an_error_with_a_reason(vendors_url)
    the_end_of_a_video_is_an_event(demo_url)
    print(openai.__version__)


def a_video_is_made_downloaded_and_deleted(url, family, seconds, size, made_size):
    videos = client(url).videos
    fields = {"size": size} if size else {}
    video = videos.create(model=f"of-{family}", prompt="A gate opens", seconds=seconds, **fields)
    assert video.object == "video" and video.status == "queued", video
    deadline = time.monotonic() + 15
    while video.status in ("queued", "in_progress") and time.monotonic() < deadline:
        time.sleep(0.05)
        video = videos.retrieve(video.id)
    expected = ("completed", 100, f"of-{family}", seconds)
    assert (video.status, video.progress, video.model, video.seconds) == expected, video
    assert size is None or video.size == (made_size or size), video
    assert videos.download_content(video.id).read()[4:8] == b"ftyp"
    generic = get(f"{url}/v1/video/generations/{video.id}")
    assert (generic["task_id"], generic["status"]) == (video.id, "succeeded"), generic
    assert videos.delete(video.id).deleted
    raises(openai.NotFoundError, lambda: videos.retrieve(video.id))


def a_video_is_created_and_polled(url):
    video = client(url).videos.create_and_poll(model="of-kling", prompt="A gate opens", poll_interval_ms=20)
    assert video.status == "completed", video


def what_is_not_offered_is_an_error_with_a_reason(url):
    videos = client(url).videos
    raises(openai.NotFoundError, lambda: videos.remix("video_1", prompt="A gate closes"), "create a new video")
    raises(openai.NotFoundError, lambda: videos.list(), "lists of tasks")
    too_long = lambda: videos.create(model="of-runway", prompt="A gate opens", seconds="99")
    raises(openai.BadRequestError, too_long, "`seconds`")


def the_end_of_a_video_is_an_event(url):
    receiver = Receiver()
    api = client(url)
    video = api.videos.create(
        model="demo-video-a",
        prompt="A gate opens",
        extra_body={"callback_url": receiver.url("/openai")},
        extra_headers={"x-simulate": "queue=1ms; run=1ms"},
    )
    [(headers, body)] = receiver.wait_for(1)
    event = api.webhooks.unwrap(body, headers, secret=NEW_SECRET)
    assert (event.object, event.type, event.data.id) == ("event", "video.completed", video.id), event
    assert event.id == headers["webhook-id"], event
    forged = lambda: api.webhooks.unwrap(body, headers, secret=OTHER_SECRET)
    raises(openai.InvalidWebhookSignatureError, forged)


def raises(kind, call, words=""):
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"raised nothing, not {kind.__name__}")


def get(url):
    request = urllib.request.Request(url, headers={"authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read())


if __name__ == "__main__":
    main(*sys.argv[1:3])
