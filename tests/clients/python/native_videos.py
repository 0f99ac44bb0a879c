"""Tests of vendors' own SDKs of videos, of which only the base URL is set. They need a gateway with TLS."""

import os

from demo import KEY, until
from runner import case, contains, equal, holds, raised

URL = os.environ.get("CLIENTS_HTTPS_URL")
OTHER_KEY = "sk-other"
PROMPT = "A gate opens"

if URL:
    host = URL.removeprefix("https://")
    os.environ["SSL_CERT_FILE"] = os.environ["CLIENTS_HTTPS_AUTHORITY"]
    # This SDK reads it as it is imported.
    os.environ["FAL_QUEUE_RUN_HOST"] = f"{host}/fal"

    import fal_client
    import httpx
    import lumaai
    import replicate
    import runwayml
    from google import genai

    def runway(key=KEY):
        return runwayml.RunwayML(api_key=key, base_url=f"{URL}/runway", max_retries=0, timeout=20.0)

    def luma(key=KEY):
        return lumaai.LumaAI(auth_token=key, base_url=f"{URL}/luma", max_retries=0, timeout=20.0)

    def replicate_client(key=KEY):
        return replicate.Client(api_token=key, base_url=f"{URL}/replicate")

    def google(key=KEY):
        return genai.Client(api_key=key, http_options={"base_url": f"{URL}/veo"})

    def runway_video(scenario, **options):
        create = {"prompt_text": PROMPT, "ratio": "1280:720", "duration": 5, **options}
        return runway().text_to_video.create(model=f"own/{scenario}", **create)

    @case
    def runways_sdk_makes_a_video_and_waits_for_it():
        made = runway_video("done")
        contains("id", made.id, "task_")
        task = runway().tasks.retrieve(made.id)
        equal("status and id", (task.status, task.id), ("SUCCEEDED", made.id))
        contains("video", task.output[0], ".mp4")
        image = runway().image_to_video.create(
            model="own/done", prompt_image="https://images.example/gate.png", prompt_text=PROMPT,
            ratio="1280:720", duration=5,
        )  # fmt: skip
        contains("video", image.wait_for_task_output(timeout=30).output[0], ".mp4")

    @case
    def runways_sdk_cancels_a_video():
        made = runway_video("queued")
        equal("status", runway().tasks.retrieve(made.id).status, "PENDING")
        runway().tasks.delete(made.id)
        equal("status", runway().tasks.retrieve(made.id).status, "CANCELLED")

    @case
    def runways_sdk_reads_refusals_as_those_of_the_vendor():
        made = runway_video("done")
        raised(runwayml.NotFoundError, lambda: runway(OTHER_KEY).tasks.retrieve(made.id))
        raised(runwayml.NotFoundError, lambda: runway_video("missing"))
        raised(runwayml.AuthenticationError, lambda: runway("sk-wrong").tasks.retrieve(made.id))
        raised(runwayml.BadRequestError, lambda: runway_video("done", duration=500))

    @case
    def replicates_sdk_makes_a_video_and_reads_its_file():
        client = replicate_client()
        made = client.models.predictions.create(model="own/done", input={"prompt": PROMPT})
        equal("model", made.model, "own/done")
        for url in made.urls.values():
            contains("URL", url, f"{URL}/replicate/v1/predictions/task_")
        made.reload()
        equal("status", made.status, "succeeded")
        output = client.run("own/done", input={"prompt": PROMPT})
        # The SDK sends its key to the URL.
        contains("output", output.url, URL)
        equal("file", output.read()[4:8], b"ftyp")

    @case
    def replicates_sdk_cancels_a_video():
        made = replicate_client().models.predictions.create(model="own/queued", input={"prompt": PROMPT})
        made.cancel()
        made.reload()
        equal("status", made.status, "canceled")

    @case
    def replicates_sdk_reads_refusals_as_those_of_the_vendor():
        made = replicate_client().models.predictions.create(model="own/done", input={"prompt": PROMPT})
        error = raised(replicate.exceptions.ReplicateError, lambda: replicate_client(OTHER_KEY).predictions.get(made.id))
        equal("status", error.status, 404)
        contains("detail", error.detail, "no task")

    @case
    def fals_sdk_follows_the_urls_of_the_gateway():
        client = fal_client.SyncClient(key=KEY)
        made = client.submit("own/done", arguments={"prompt": PROMPT})
        for url in (made.status_url, made.response_url, made.cancel_url):
            contains("URL", url, f"{URL}/fal/own/done/requests/{made.request_id}")
        holds("it is completed", isinstance(made.status(), fal_client.Completed))
        contains("video", made.get()["video"]["url"], ".mp4")
        contains("video", client.result("own/done", made.request_id)["video"]["url"], ".mp4")
        contains("video", client.subscribe("own/done", {"prompt": PROMPT})["video"]["url"], ".mp4")

    @case
    def fals_sdk_cancels_a_video():
        client = fal_client.SyncClient(key=KEY)
        made = client.submit("own/queued", arguments={"prompt": PROMPT})
        holds("it is queued", isinstance(made.status(), fal_client.Queued))
        made.cancel()
        refused = raised(fal_client.FalClientHTTPError, made.get)
        holds("there is no result", 400 <= refused.status_code < 500, refused.status_code)

    @case
    def fals_sdk_reads_refusals_as_those_of_the_vendor():
        made = fal_client.SyncClient(key=KEY).submit("own/done", arguments={"prompt": PROMPT})
        other = fal_client.SyncClient(key=OTHER_KEY)
        error = raised(fal_client.FalClientHTTPError, lambda: other.status("own/done", made.request_id))
        equal("status", error.status_code, 404)
        contains("message", str(error), "no task")

    @case
    def lumas_sdk_makes_a_video():
        made = luma().generations.create(model="own/done", prompt=PROMPT)
        contains("id", made.id, "task_")
        generation = luma().generations.get(made.id)
        equal("state and model", (generation.state, generation.model), ("completed", "own/done"))
        contains("video", generation.assets.video, ".mp4")
        error = raised(lumaai.NotFoundError, lambda: luma(OTHER_KEY).generations.get(made.id))
        contains("detail", error.body["detail"], "no task")

    @case
    def googles_sdk_makes_a_video_and_downloads_it():
        # A client that is not kept closes its connections.
        client, other = google(), google(OTHER_KEY)
        operation = client.models.generate_videos(model="own-done", prompt=PROMPT)
        contains("name", operation.name, "models/own-done/operations/task_")
        operation = until("the end of the operation", lambda: ended(client.operations.get(operation)))
        (generated,) = operation.response.generated_videos
        contains("URL", generated.video.uri, f"{URL}/veo/v1beta/files/")
        equal("file", client.files.download(file=generated.video)[4:8], b"ftyp")
        error = raised(genai.errors.ClientError, lambda: other.operations.get(operation))
        equal("status", error.code, 404)
        # Its key is in a header of the vendor's own.
        plain = httpx.get(f"{URL}/veo/v1beta/{operation.name}", headers={"x-goog-api-key": KEY})
        equal("status", plain.status_code, 200)

    def ended(operation):
        return operation if operation.done else None
