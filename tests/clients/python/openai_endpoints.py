"""Tests of embeddings, completions, moderations, images of a text and speech with the OpenAI SDK."""

import base64
import os

import openai

from demo import KEY
from runner import case, contains, equal, holds, raised

# Set by run.sh if it has a program to start.
URL = os.environ.get("CLIENTS_VENDORS_URL")
MODEL = "demo-endpoints"

if URL:
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0)

    @case
    def a_vector_for_each_text():
        made = client.embeddings.create(model=MODEL, input=["a gate", "a hedge row"])
        equal("model", made.model, MODEL)
        equal("vectors", [(it.index, len(it.embedding)) for it in made.data], [(0, 8), (1, 8)])
        equal("tokens", made.usage.prompt_tokens, 5)

    @case
    def a_completion_whole_and_as_a_stream():
        question = {"model": MODEL, "prompt": "Once upon a time", "max_tokens": 40}
        whole = client.completions.create(**question)
        contains("text", whole.choices[0].text, "Once upon a time")
        chunks = list(client.completions.create(**question, stream=True, stream_options={"include_usage": True}))
        equal("text", "".join(it.choices[0].text for it in chunks if it.choices), whole.choices[0].text)
        equal("usage", chunks[-1].usage, whole.usage)

    @case
    def a_verdict_about_a_text():
        made = client.moderations.create(model=MODEL, input="this is flagged")
        holds("the verdict", made.results[0].flagged and made.results[0].categories.violence)

    @case
    def an_image_of_a_text_whole_and_as_a_stream():
        made = client.images.generate(model=MODEL, prompt="a gate", size="1024x1024")
        image = base64.b64decode(made.data[0].b64_json)
        equal("image", image[:4], b"\x89PNG")
        events = list(client.images.generate(model=MODEL, prompt="a gate", size="1024x1024", stream=True, partial_images=1))
        equal("events", [it.type for it in events], ["image_generation.partial_image", "image_generation.completed"])
        equal("the same image", base64.b64decode(events[-1].b64_json), image)

    @case
    def speech_of_a_text_whole_and_as_it_arrives():
        question = {"model": MODEL, "voice": "alloy", "input": "Mind the gate."}
        whole = client.audio.speech.create(**question).read()
        equal("bytes", len(whole), 14 * 64)
        with client.audio.speech.with_streaming_response.create(**question) as response:
            equal("type", response.headers["content-type"], "audio/mpeg")
            equal("the same sound", b"".join(response.iter_bytes()), whole)

    @case
    def an_unknown_model_is_not_found_at_each_endpoint():
        for create in [
            lambda: client.embeddings.create(model="demo-none", input="a"),
            lambda: client.completions.create(model="demo-none", prompt="a"),
            lambda: client.moderations.create(model="demo-none", input="a"),
            lambda: client.images.generate(model="demo-none", prompt="a"),
            lambda: client.audio.speech.create(model="demo-none", voice="alloy", input="a"),
        ]:
            error = raised(openai.NotFoundError, create)
            equal("code", error.code, "model_not_found")
