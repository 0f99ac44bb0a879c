"""Tests of files, uploads, conversations, containers, vector stores and stored chat completions with the OpenAI SDK."""

import openai

from demo import LARGE, QUESTION, openai_client
from runner import case, cases, contains, equal, raised

client = openai_client()
CONTENT = b"\x00\xffheadgate\r\n--\r\n"


def upload():
    return client.files.create(file=("notes.bin", CONTENT), purpose="user_data")


@case
def a_file_is_uploaded_read_listed_and_deleted():
    file = upload()
    equal("file", (file.object, file.filename, file.bytes), ("file", "notes.bin", len(CONTENT)))
    equal("again", client.files.retrieve(file.id), file)
    equal("content", client.files.content(file.id).read(), CONTENT)
    contains("list", [listed.id for listed in client.files.list()], file.id)
    client.files.delete(file.id)
    error = raised(openai.NotFoundError, lambda: client.files.retrieve(file.id))
    equal("status", error.status_code, 404)


@case
def a_response_reads_an_uploaded_file():
    part = {"type": "input_file", "file_id": upload().id}
    content = [part, {"type": "input_text", "text": QUESTION}]
    response = client.responses.create(model=LARGE, input=[{"role": "user", "content": content}])
    contains("text", response.output_text, QUESTION)


@case
def a_conversation_takes_items_and_responses():
    conversation = client.conversations.create(metadata={"topic": "water"})
    equal("again", client.conversations.retrieve(conversation.id), conversation)
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": QUESTION}]}
    client.conversations.items.create(conversation.id, items=[item])
    (listed,) = client.conversations.items.list(conversation.id)
    equal("item", listed.role, "user")
    response = client.responses.create(model=LARGE, input=QUESTION, conversation=conversation.id)
    equal("conversation", response.conversation.id, conversation.id)
    client.conversations.delete(conversation.id)
    raised(openai.NotFoundError, lambda: client.conversations.retrieve(conversation.id))


@case
def a_container_holds_files_and_runs_code():
    container = client.containers.create(name="box")
    contains("list", [listed.id for listed in client.containers.list()], container.id)
    file = client.containers.files.create(container.id, file=("notes.bin", CONTENT))
    content = client.containers.files.content.retrieve(file.id, container_id=container.id)
    equal("content", content.read(), CONTENT)
    tool = {"type": "code_interpreter", "container": container.id}
    response = client.responses.create(model=LARGE, input=QUESTION, tools=[tool])
    equal("container", response.output[0].container_id, container.id)
    client.containers.delete(container.id)


@case
def an_upload_in_parts_becomes_a_file():
    half = len(CONTENT) // 2
    upload = client.uploads.create(filename="notes.bin", purpose="user_data", bytes=len(CONTENT), mime_type="text/plain")
    parts = [client.uploads.parts.create(upload.id, data=data).id for data in (CONTENT[:half], CONTENT[half:])]
    completed = client.uploads.complete(upload.id, part_ids=parts)
    equal("status", completed.status, "completed")
    equal("content", client.files.content(completed.file.id).read(), CONTENT)
    cancelled = client.uploads.create(filename="notes.bin", purpose="user_data", bytes=1, mime_type="text/plain")
    equal("cancelled", client.uploads.cancel(cancelled.id).status, "cancelled")


@case
def a_vector_store_is_filled_searched_and_used():
    store = client.vector_stores.create(name="shelf")
    contains("list", [listed.id for listed in client.vector_stores.list()], store.id)
    file = client.vector_stores.files.create_and_poll(upload().id, vector_store_id=store.id)
    equal("status", file.status, "completed")
    batch = client.vector_stores.file_batches.create_and_poll(store.id, file_ids=[upload().id])
    equal("batch", batch.status, "completed")
    found = client.vector_stores.search(store.id, query="water")
    contains("found", [result.file_id for result in found], file.id)
    tool = {"type": "file_search", "vector_store_ids": [store.id]}
    response = client.responses.create(model=LARGE, input=QUESTION, tools=[tool])
    contains("text", response.output_text, QUESTION)
    client.vector_stores.files.delete(file.id, vector_store_id=store.id)
    client.vector_stores.delete(store.id)
    raised(openai.NotFoundError, lambda: client.vector_stores.retrieve(store.id))


@cases(whole=(False,), streamed=(True,))
def a_chat_completion_is_stored_read_and_deleted(stream):
    question = [{"role": "user", "content": QUESTION}]
    made = client.chat.completions.create(model=LARGE, messages=question, store=True, stream=stream)
    stored = [chunk.id for chunk in made][0] if stream else made.id
    completions = client.chat.completions
    contains("text", completions.retrieve(stored).choices[0].message.content, QUESTION)
    equal("asked", [message.content for message in completions.messages.list(stored)], [QUESTION])
    completions.update(stored, metadata={"topic": "water"})
    completions.delete(stored)
    raised(openai.NotFoundError, lambda: completions.retrieve(stored))


@cases(
    file=(lambda: client.files.retrieve("file-never_made_here"), "file"),
    conversation=(lambda: client.conversations.retrieve("conv_never_made_here"), "conversation"),
    container=(lambda: client.containers.retrieve("cntr_never_made_here"), "container"),
    upload=(lambda: client.uploads.cancel("upload_never_made_here"), "upload"),
    vector_store=(lambda: client.vector_stores.retrieve("vs_never_made_here"), "vector store"),
    chat_completion=(lambda: client.chat.completions.retrieve("chatcmpl-never_made_here"), "chat completion"),
)
def what_was_never_made_here_is_not_found(call, what):
    error = raised(openai.NotFoundError, call)
    equal("code", error.code, "id_not_found")
    contains("message", error.message, what)
