"""Tests of transcriptions, translations and variations of images with the OpenAI SDK."""

import base64
import os
import warnings

import openai

from demo import KEY, marked, received
from runner import case, cases, contains, equal, holds, raised

# Set by run.sh if it has a program to start.
URL = os.environ.get("CLIENTS_VENDORS_URL")
MODEL, WHISPER = "demo-endpoints", "demo-whisper"
# Two and a half seconds of the simulated provider, with bytes that a careless form encoder would get wrong.
SOUND = b"RIFF\r\n--\r\n\r\n\x00\xff--headgate--\r\n" + bytes(2472)
FILE = ("gate.wav", SOUND, "audio/wav")
PICTURE = ("gate.png", b"\x89PNG\r\n\x1a\n", "image/png")

if URL:
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0)
    transcribe = client.audio.transcriptions.create
    # The SDK marks both as old.
    warnings.filterwarnings("ignore", category=DeprecationWarning)

    @case
    def a_transcription_has_its_tokens_or_its_seconds():
        made = transcribe(model=MODEL, file=FILE)
        contains("text", made.text, "the gate")
        equal("type", made.usage.type, "tokens")
        equal("tokens", (made.usage.input_tokens, made.usage.input_token_details.audio_tokens), (25, 25))
        made = transcribe(model=WHISPER, file=FILE, response_format="verbose_json")
        equal("usage", (made.usage.type, made.usage.seconds), ("duration", 3))
        equal("duration", made.duration, 2.5)

    @cases(text=("text", "You said"), srt=("srt", "1\n00:00:00,000"), vtt=("vtt", "WEBVTT"))
    def a_transcription_as_text_or_subtitles(form, start):
        made = transcribe(model=WHISPER, file=FILE, response_format=form)
        holds("text", made.startswith(start), made)

    @case
    def a_transcription_with_speakers():
        made = transcribe(model=MODEL, file=FILE, response_format="diarized_json")
        equal("speakers", [segment.speaker for segment in made.segments], ["A"])

    @case
    def a_stream_of_a_transcription_ends_with_its_usage():
        events = list(transcribe(model=MODEL, file=FILE, stream=True))
        kinds = {event.type for event in events[:-1]}
        equal("events", (kinds, events[-1].type), ({"transcript.text.delta"}, "transcript.text.done"))
        equal("text", "".join(event.delta for event in events[:-1]), events[-1].text)
        equal("tokens", events[-1].usage.input_tokens, 25)

    @case
    async def the_asynchronous_client_transcribes_too():
        async with openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0) as client:
            made = await client.audio.transcriptions.create(model=MODEL, file=FILE)
            stream = await client.audio.transcriptions.create(model=MODEL, file=FILE, stream=True)
            events = [event async for event in stream]
        equal("text", events[-1].text, made.text)

    @case
    def all_fields_of_a_transcription_arrive_with_only_its_model_renamed():
        mark, headers = marked()
        transcribe(
            model=MODEL,
            file=FILE,
            chunking_strategy={"type": "server_vad", "threshold": 0.5},
            include=["logprobs"],
            known_speaker_names=["a", "b"],
            language="en",
            temperature=0,
            timestamp_granularities=["word", "segment"],
            extra_headers=headers,
        )
        (record,) = received(mark)
        body = record["body"]
        equal("sound", body.count(SOUND), 1)
        for text in (b'name="chunking_strategy[threshold]"\r\n\r\n0.5', b"word", b"segment", b'filename="gate.wav"'):
            contains("form", body, text)
        equal("model", body.count(b'name="model"\r\n\r\nsim-large-2026-08\r\n'), 1)
        holds("the caller's model is gone", MODEL.encode() not in body, body[:200])

    @case
    def a_translation_of_a_sound():
        made = client.audio.translations.create(model=WHISPER, file=FILE)
        contains("text", made.text, "the gate")

    @case
    def variations_of_an_image():
        made = client.images.create_variation(model=MODEL, image=PICTURE, n=2, response_format="b64_json")
        pictures = [base64.b64decode(image.b64_json) for image in made.data]
        equal("pictures", [picture[:4] for picture in pictures], [b"\x89PNG"] * 2)

    @case
    def a_variation_without_a_model_is_told_to_name_one():
        error = raised(openai.BadRequestError, lambda: client.images.create_variation(image=PICTURE))
        equal("error", (error.param, error.code), ("model", "missing_required_parameter"))

    @case
    def a_transcription_that_failed_is_repeated_by_the_sdk_and_a_variation_is_not():
        patient = client.with_options(max_retries=2)
        mark, headers = marked("status=500; times=1; message=once for the transcription")
        contains("text", patient.audio.transcriptions.create(model=MODEL, file=FILE, extra_headers=headers).text, "the gate")
        equal("requests", len(received(mark)), 2)
        mark, headers = marked("status=500")
        vary = lambda: patient.images.create_variation(model=MODEL, image=PICTURE, extra_headers=headers)  # noqa: E731
        raised(openai.InternalServerError, vary)
        equal("requests", len(received(mark)), 1)

    @case
    def errors_of_forms_are_those_of_the_sdk():
        wrong = openai.OpenAI(base_url=f"{URL}/v1", api_key="sk-wrong", max_retries=0)
        for create in [
            lambda client, model: client.audio.transcriptions.create(model=model, file=FILE),
            lambda client, model: client.audio.translations.create(model=model, file=FILE),
            lambda client, model: client.images.create_variation(model=model, image=PICTURE),
        ]:
            raised(openai.AuthenticationError, lambda: create(wrong, MODEL))
            error = raised(openai.NotFoundError, lambda: create(client, "demo-none"))
            equal("code", error.code, "model_not_found")
            error = raised(openai.BadRequestError, lambda: create(client, 'demo\r\n"x"'))
            equal("param", error.param, "model")
