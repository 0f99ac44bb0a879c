"""Tests of files, conversations and containers with the OpenAI SDK."""

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


@cases(
    file=(lambda: client.files.retrieve("file-never_made_here"), "file"),
    conversation=(lambda: client.conversations.retrieve("conv_never_made_here"), "conversation"),
    container=(lambda: client.containers.retrieve("cntr_never_made_here"), "container"),
)
def what_was_never_made_here_is_not_found(call, what):
    error = raised(openai.NotFoundError, call)
    equal("code", error.code, "id_not_found")
    contains("message", error.message, what)
