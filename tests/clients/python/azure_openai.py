"""Tests of the OpenAI SDK's client for Azure, which names the model in the path and sends the key in a header of its own."""

import base64
import os

import openai

from demo import KEY, PNG, QUESTION, marked, received, received_body
from runner import case, cases, contains, equal, holds, raised

# Set by run.sh if it has a program to start.
URL = os.environ.get("CLIENTS_VENDORS_URL")
MODEL, TEAM = "demo-endpoints", "team/gpt 4"
MESSAGES = [{"role": "user", "content": QUESTION}]
SOUND = ("gate.wav", b"RIFF" + bytes(2496), "audio/wav")

if URL:

    def azure(key=KEY, **options):
        return openai.AzureOpenAI(azure_endpoint=URL, api_key=key, api_version="2024-10-21", max_retries=0, **options)

    client = azure()

    @cases(by_model=(client, MODEL), by_deployment=(azure(azure_deployment=MODEL), "gpt-4o"))
    def a_chat_whole_and_as_a_stream(client, model):
        mark, headers = marked()
        whole = client.chat.completions.create(model=model, messages=MESSAGES, extra_headers=headers)
        equal("model", whole.model, MODEL)
        contains("text", whole.choices[0].message.content, QUESTION)
        (record,) = received(mark)
        equal("path", record["path"], "/v1/chat/completions")
        equal("model of the channel", record["model"], "sim-large-2026-08")
        equal("key of the channel", record["headers"].get("authorization"), "Bearer vendor-key")
        holds("the key of the caller stays behind", "api-key" not in record["headers"], record["headers"])
        options = {"stream": True, "stream_options": {"include_usage": True}}
        chunks = list(client.chat.completions.create(model=model, messages=MESSAGES, **options))
        text = "".join(it.choices[0].delta.content or "" for it in chunks if it.choices)
        equal("text", text, whole.choices[0].message.content)
        equal("usage", chunks[-1].usage, whole.usage)

    # The SDK encodes the name of a model, but not that of `azure_deployment`.
    @cases(by_model=(client, TEAM), by_deployment=(azure(azure_deployment="team%2Fgpt%204"), "any"))
    def a_name_with_a_slash_and_a_blank_is_one_deployment(client, model):
        mark, headers = marked()
        client.chat.completions.create(model=model, messages=MESSAGES, extra_headers=headers)
        equal("model of the channel", received_body(mark)["model"], "sim-small-2026-08")

    @case
    def vectors_completions_and_images():
        made = client.embeddings.create(model=MODEL, input=["a gate", "a hedge row"])
        equal("vectors", [(it.index, len(it.embedding)) for it in made.data], [(0, 8), (1, 8)])
        text = client.completions.create(model=MODEL, prompt="Once upon a time", max_tokens=40).choices[0].text
        contains("text", text, "Once upon a time")
        image = client.images.generate(model=MODEL, prompt="a gate", size="1024x1024").data[0]
        equal("image", base64.b64decode(image.b64_json)[:4], b"\x89PNG")
        picture = ("gate.png", base64.b64decode(PNG), "image/png")
        image = client.images.edit(model=MODEL, prompt="a gate", image=picture).data[0]
        equal("image", base64.b64decode(image.b64_json)[:4], b"\x89PNG")

    @case
    def sound_and_its_text():
        sound = client.audio.speech.create(model=MODEL, voice="alloy", input="Mind the gate.").read()
        equal("bytes", len(sound), 14 * 64)
        contains("text", client.audio.transcriptions.create(model=MODEL, file=SOUND).text, "the gate")
        by_deployment = azure(azure_deployment=MODEL)
        contains("text", by_deployment.audio.translations.create(model="whisper", file=SOUND).text, "gate")

    @cases(by_model=(client,), by_deployment=(azure(azure_deployment="any"),))
    def a_response_whole_and_as_a_stream_and_by_its_id(client):
        mark, headers = marked()
        made = client.responses.create(model=MODEL, input=QUESTION, store=True, extra_headers=headers)
        equal("model", made.model, MODEL)
        contains("text", made.output_text, QUESTION)
        (record,) = received(mark)
        equal("path", record["path"].split("?")[0], "/v1/responses")
        equal("model of the channel", record["model"], "sim-large-2026-08")
        holds("the key of the caller stays behind", "api-key" not in record["headers"], record["headers"])
        equal("text by its id", client.responses.retrieve(made.id).output_text, made.output_text)
        client.responses.delete(made.id)
        events = list(client.responses.create(model=MODEL, input=QUESTION, stream=True))
        equal("end", events[-1].type, "response.completed")
        equal("text", events[-1].response.output_text, made.output_text)

    @cases(by_model=(client,), by_deployment=(azure(azure_deployment="any"),))
    def the_models_of_the_gateway(client):
        names = [model.id for model in client.models.list()]
        holds("the models", MODEL in names and TEAM in names, names)
        equal("one", client.models.retrieve(MODEL).id, MODEL)

    @case
    def an_unknown_model_and_an_unknown_key_are_errors_of_the_sdk():
        error = raised(openai.NotFoundError, lambda: client.chat.completions.create(model="demo-none", messages=MESSAGES))
        equal("code", error.code, "model_not_found")
        unknown = azure("sk-unknown")
        error = raised(openai.AuthenticationError, lambda: unknown.embeddings.create(model=MODEL, input="a"))
        contains("message", error.message, "Incorrect API key provided")

    @case
    async def an_asynchronous_client_and_one_with_a_token():
        options = {"azure_endpoint": URL, "api_version": "2024-10-21", "max_retries": 0, "azure_ad_token": KEY}
        async with openai.AsyncAzureOpenAI(**options) as client:
            made = await client.chat.completions.create(model=MODEL, messages=MESSAGES)
            contains("text", made.choices[0].message.content, QUESTION)
