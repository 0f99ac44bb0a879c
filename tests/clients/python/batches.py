"""Tests of batches with the SDKs of OpenAI and Anthropic."""

import json

import anthropic
import openai

from demo import LARGE, QUESTION, SMALL, anthropic_client, openai_client
from runner import case, contains, equal, raised

client = openai_client()
messages = anthropic_client()
CHAT = "/v1/chat/completions"


def line(custom_id, model):
    body = {"model": model, "messages": [{"role": "user", "content": QUESTION}]}
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": CHAT, "body": body})


def upload(*lines):
    return client.files.create(file=("batch.jsonl", "\n".join(lines).encode()), purpose="batch")


def entry(custom_id, model):
    params = {"model": model, "max_tokens": 64, "messages": [{"role": "user", "content": QUESTION}]}
    return {"custom_id": custom_id, "params": params}


@case
def a_batch_of_a_file_has_an_output():
    file = upload(line("a", LARGE), line("b", SMALL))
    batch = client.batches.create(input_file_id=file.id, endpoint=CHAT, completion_window="24h")
    while batch.status in ("validating", "in_progress", "finalizing"):
        batch = client.batches.retrieve(batch.id)
    equal("status", batch.status, "completed")
    lines = client.files.content(batch.output_file_id).text.splitlines()
    outputs = [json.loads(output) for output in lines]
    equal("ids", [output["custom_id"] for output in outputs], ["a", "b"])
    answer = outputs[0]["response"]["body"]["choices"][0]["message"]["content"]
    contains("text", answer, QUESTION)
    contains("list", [listed.id for listed in client.batches.list()], batch.id)


@case
def a_batch_of_a_file_is_cancelled():
    file = upload(line("a", LARGE))
    batch = client.batches.create(input_file_id=file.id, endpoint=CHAT, completion_window="24h")
    equal("status", client.batches.cancel(batch.id).status, "cancelling")
    equal("again", client.batches.retrieve(batch.id).status, "cancelled")


@case
def a_line_at_fault_is_named():
    error = raised(openai.BadRequestError, lambda: upload(line("a", LARGE), line("b", "no-model")))
    contains("message", error.message, "line 2: model `no-model` does not exist")
    equal("param", error.param, "file")


@case
def a_message_batch_has_results():
    batch = messages.messages.batches.create(requests=[entry("a", LARGE), entry("b", SMALL)])
    while batch.processing_status != "ended":
        batch = messages.messages.batches.retrieve(batch.id)
    results = list(messages.messages.batches.results(batch.id))
    equal("ids", [result.custom_id for result in results], ["a", "b"])
    contains("text", results[0].result.message.content[0].text, QUESTION)
    contains("list", [listed.id for listed in messages.messages.batches.list()], batch.id)
    messages.messages.batches.delete(batch.id)
    raised(anthropic.NotFoundError, lambda: messages.messages.batches.retrieve(batch.id))


@case
def a_message_batch_is_cancelled():
    batch = messages.messages.batches.create(requests=[entry("a", LARGE)])
    equal("status", messages.messages.batches.cancel(batch.id).processing_status, "canceling")


@case
def an_entry_at_fault_is_named():
    wrong = [entry("a", LARGE), entry("a", LARGE)]
    error = raised(
        anthropic.BadRequestError, lambda: messages.messages.batches.create(requests=wrong)
    )
    contains("message", str(error), "`requests.1`: `custom_id`")
