"""Tests of the SDKs of clouds under the clouds' own paths: google-genai in both of its modes, boto3, and Anthropic's clients for
Vertex AI and for Bedrock. Each has a key of the gateway in place of a credential of the cloud."""

import json
import os

import anthropic
import boto3
import botocore
from botocore.config import Config
from google import genai
from google.genai import errors, types
from google.oauth2.credentials import Credentials

from cloud_routes import CLAUDE
from demo import KEY, QUESTION, marked, received, received_body
from runner import case, cases, contains, equal, holds, raised

# Set by run.sh if it has a program to start. boto3 sends keys of Bedrock over TLS only.
URL, AUTHORITY = os.environ.get("CLIENTS_HTTPS_URL"), os.environ.get("CLIENTS_HTTPS_AUTHORITY")
GEMINI, NOVA, MESSAGES = "demo-gemini", "demo-nova", "demo-claude"

if URL:
    os.environ["SSL_CERT_FILE"] = AUTHORITY

    def gemini(key=KEY):
        return genai.Client(api_key=key, http_options=types.HttpOptions(base_url=URL))

    def vertex(key=KEY):
        options = types.HttpOptions(base_url=URL)
        return genai.Client(vertexai=True, project="p-1", location="eu-west1", credentials=Credentials(key), http_options=options)

    def express(key=KEY):
        return genai.Client(vertexai=True, api_key=key, http_options=types.HttpOptions(base_url=URL))

    def bedrock(key=KEY):
        os.environ["AWS_BEARER_TOKEN_BEDROCK"] = key
        config = Config(retries={"total_max_attempts": 1})
        return boto3.client("bedrock-runtime", endpoint_url=URL, region_name="eu-west-1", verify=AUTHORITY, config=config)

    def on_vertex(key=KEY):
        return anthropic.AnthropicVertex(
            base_url=f"{URL}/v1", access_token=key, project_id="p-1", region="eu-west1", max_retries=0
        )

    def on_bedrock(key=KEY):
        os.environ.pop("AWS_BEARER_TOKEN_BEDROCK", None)
        return anthropic.AnthropicBedrock(base_url=URL, api_key=key, aws_region="eu-west-1", max_retries=0)

    def asked(**options):
        return {"max_tokens": 500, "messages": [{"role": "user", "content": QUESTION}], **options}

    @cases(gemini=(gemini, "/v1beta"), vertex=(vertex, "/v1beta"), express=(express, "/v1beta"))
    def google_genai_whole_as_a_stream_and_counted(client, base):
        client = client()
        mark, headers = marked()
        config = types.GenerateContentConfig(max_output_tokens=500, http_options=types.HttpOptions(headers=headers))
        whole = client.models.generate_content(model=GEMINI, contents=QUESTION, config=config)
        contains("text", whole.text, QUESTION)
        (record,) = received(mark)
        equal("path", record["path"], f"{base}/models/gemini-3-flash-preview:generateContent")
        equal("key of the channel", record["headers"].get("x-goog-api-key"), "vendor-key")
        holds("the key of the caller stays behind", KEY not in str(record), record)
        chunks = list(client.models.generate_content_stream(model=GEMINI, contents=QUESTION))
        equal("text", "".join(chunk.text or "" for chunk in chunks), whole.text)
        equal("usage", chunks[-1].usage_metadata, whole.usage_metadata)
        count = client.models.count_tokens(model=GEMINI, contents=QUESTION)
        holds("a count", count.total_tokens > 3, count)

    @cases(gemini=(gemini,), vertex=(vertex,), express=(express,))
    def what_is_refused_is_an_error_of_google_genai(client):
        known, stranger = client(), client("sk-unknown")
        unknown = lambda: known.models.generate_content(model="demo-none", contents=QUESTION)  # noqa: E731
        error = raised(errors.ClientError, unknown)
        equal("code and status", (error.code, error.status), (404, "NOT_FOUND"))
        contains("message", error.message, "demo-none")
        refused = lambda: list(stranger.models.generate_content_stream(model=GEMINI, contents="Hi"))  # noqa: E731
        error = raised(errors.ClientError, refused)
        equal("code and status", (error.code, error.status), (401, "UNAUTHENTICATED"))

    @case
    def a_stream_of_google_that_breaks_off_is_an_error_of_google_genai():
        headers = {"x-simulate": "cut_after=3"}
        config = types.GenerateContentConfig(http_options=types.HttpOptions(headers=headers))
        client = gemini()
        stream = client.models.generate_content_stream(model=GEMINI, contents=QUESTION, config=config)
        error = raised(errors.ServerError, lambda: list(stream))
        equal("code and status", (error.code, error.status), (502, "UNAVAILABLE"))

    @case
    async def an_asynchronous_google_genai():
        client = gemini().aio
        chunks = [chunk async for chunk in await client.models.generate_content_stream(model=GEMINI, contents=QUESTION)]
        contains("text", "".join(chunk.text or "" for chunk in chunks), QUESTION)

    @cases(short=(NOVA, "eu.amazon.nova-pro-v1%3A0"), with_a_colon=(CLAUDE, CLAUDE.replace(":", "%3A")))
    def boto3_converses_whole_and_as_a_stream(model, sent):
        client = bedrock()
        messages = [{"role": "user", "content": [{"text": QUESTION}]}]
        whole = client.converse(modelId=model, messages=messages, inferenceConfig={"maxTokens": 500})
        text = whole["output"]["message"]["content"][0]["text"]
        contains("text", text, QUESTION)
        equal("status", whole["ResponseMetadata"]["HTTPStatusCode"], 200)
        holds("a request id", whole["ResponseMetadata"].get("RequestId"), whole["ResponseMetadata"])
        events = list(client.converse_stream(modelId=model, messages=messages)["stream"])
        pieces = [event["contentBlockDelta"]["delta"].get("text", "") for event in events if "contentBlockDelta" in event]
        equal("text", "".join(pieces), text)
        equal("usage", events[-1]["metadata"]["usage"], whole["usage"])

    @case
    def what_is_refused_is_an_error_of_boto3():
        messages = [{"role": "user", "content": [{"text": QUESTION}]}]
        client = bedrock()
        unknown = lambda: client.converse(modelId="demo-none", messages=messages)  # noqa: E731
        error = raised(client.exceptions.ResourceNotFoundException, unknown)
        contains("message", error.response["Error"]["Message"], "demo-none")
        stranger = bedrock("sk-unknown")
        refused = lambda: stranger.converse_stream(modelId=NOVA, messages=messages)  # noqa: E731
        error = raised(botocore.exceptions.ClientError, refused)
        equal("code", error.response["Error"]["Code"], "UnrecognizedClientException")
        contains("message", error.response["Error"]["Message"], "Incorrect API key")

    @case
    def a_stream_of_bedrock_that_breaks_off_is_an_error_of_boto3():
        client = bedrock()
        cut = lambda request, **_: request.headers.update({"x-simulate": "cut_after=3"})  # noqa: E731
        client.meta.events.register("before-send.bedrock-runtime", cut)
        messages = [{"role": "user", "content": [{"text": QUESTION}]}]
        stream = client.converse_stream(modelId=NOVA, messages=messages)["stream"]
        error = raised(botocore.exceptions.EventStreamError, lambda: list(stream))
        equal("code", error.response["Error"]["Code"], "modelStreamErrorException")
        contains("message", error.response["Error"]["Message"], "try again")

    @cases(vertex=(on_vertex,), bedrock=(on_bedrock,))
    def anthropics_clients_for_clouds_whole_and_as_a_stream(client):
        client = client()
        mark, headers = marked()
        headers = {**headers, "anthropic-beta": "fine-grained-tool-streaming-2025-05-14"}
        whole = client.messages.create(model=MESSAGES, extra_headers=headers, **asked())
        contains("text", whole.content[0].text, QUESTION)
        body = received_body(mark)
        equal("model of the channel", body["model"], "sim-large-2026-08")
        holds("no members of the cloud", "anthropic_version" not in body and "anthropic_beta" not in body, body)
        (record,) = received(mark)
        equal("path", record["path"], "/v1/messages")
        equal("version", record["headers"].get("anthropic-version"), "2023-06-01")
        equal("betas", record["headers"].get("anthropic-beta"), headers["anthropic-beta"])
        holds("the key of the caller stays behind", KEY not in str(record), record)
        with client.messages.stream(model=MESSAGES, **asked()) as stream:
            text = "".join(stream.text_stream)
            usage = stream.get_final_message().usage
        equal("text", text, whole.content[0].text)
        equal("output tokens", usage.output_tokens, whole.usage.output_tokens)

    @cases(vertex=(on_vertex,), bedrock=(on_bedrock,))
    def what_is_refused_is_an_error_of_anthropics_clients_for_clouds(client):
        error = raised(anthropic.NotFoundError, lambda: client().messages.create(model="demo-none", **asked()))
        contains("message", error.message, "demo-none")
        unknown = client("sk-unknown")
        raised(anthropic.AuthenticationError, lambda: unknown.messages.create(model=MESSAGES, stream=True, **asked()))

    @cases(vertex=(on_vertex,), bedrock=(on_bedrock,))
    def a_stream_that_breaks_off_is_an_error_of_anthropics_clients_for_clouds(client):
        headers = {"x-simulate": "cut_after=3"}
        stream = client().messages.create(model=MESSAGES, stream=True, extra_headers=headers, **asked())
        error = raised(anthropic.APIStatusError, lambda: list(stream))
        contains("message", str(error), "try again")

    @case
    def boto3_invokes_a_model_of_claude_whole_and_as_a_stream():
        client = bedrock()
        body = json.dumps({"anthropic_version": "bedrock-2023-05-31", **asked()})
        whole = json.loads(client.invoke_model(modelId=CLAUDE, contentType="application/json", body=body)["body"].read())
        contains("text", whole["content"][0]["text"], QUESTION)
        stream = client.invoke_model_with_response_stream(modelId=CLAUDE, contentType="application/json", body=body)
        chunks = list(stream["body"])
        events = [json.loads(chunk["chunk"]["bytes"]) for chunk in chunks]
        pieces = [event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta"]
        equal("text", "".join(pieces), whole["content"][0]["text"])
        equal("last event", events[-1]["type"], "message_stop")

    @case
    def a_signature_of_aws_is_refused_with_advice():
        os.environ.pop("AWS_BEARER_TOKEN_BEDROCK", None)
        client = boto3.client(
            "bedrock-runtime",
            endpoint_url=URL,
            region_name="eu-west-1",
            verify=AUTHORITY,
            aws_access_key_id="AKIA0",
            aws_secret_access_key="secret",
            config=Config(retries={"total_max_attempts": 1}),
        )
        refused = lambda: client.converse(modelId=NOVA, messages=[])  # noqa: E731
        error = raised(botocore.exceptions.ClientError, refused)
        contains("message", error.response["Error"]["Message"], "AWS_BEARER_TOKEN_BEDROCK")
