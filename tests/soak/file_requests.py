"""Requests with files: images, sound, uploads in forms and in parts, batches, containers and vector stores."""

import asyncio
import json
import struct
import uuid
import zlib

BOUNDARY = "----soak-boundary-4f1d"
# Fields of which neighbours differ, so that no compression takes the bytes.
SOUND = b"RIFF\r\n--\r\n\x00\xff" + bytes(40_000)


def png(width, height):
    """An image of about 3 * width * height bytes."""

    def chunk(kind, data):
        return struct.pack("!I", len(data)) + kind + data + struct.pack("!I", zlib.crc32(kind + data))

    row = b"\0" + bytes(range(256)) * (3 * width // 256 + 1)
    rows = row[: 3 * width + 1] * height
    head = struct.pack("!IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")


SMALL_IMAGE, LARGE_IMAGE = png(256, 256), png(1024, 1024)


def form(fields, files):
    """The body of a form: `files` has name, file name, type and content of each."""
    disposition = f"--{BOUNDARY}\r\ncontent-disposition: form-data"
    parts = [f'{disposition}; name="{name}"\r\n\r\n{value}\r\n'.encode() for name, value in fields.items()]
    for name, file_name, content_type, content in files:
        head = f'{disposition}; name="{name}"; filename="{file_name}"\r\ncontent-type: {content_type}\r\n\r\n'
        parts.append(head.encode() + content + b"\r\n")
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


FORM = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}


async def image_edit(caller):
    image = LARGE_IMAGE if caller.random.random() < 0.3 else SMALL_IMAGE
    fields = {"model": "demo-image", "prompt": "Open the gate"}
    if caller.random.random() < 0.3:
        body = form({**fields, "stream": "true"}, [("image", "gate.png", "image/png", image)])
        await caller.call("image edit stream", "POST", "/v1/images/edits", body, headers=FORM.items(), stream="image_edit")
        return
    body = form(fields, [("image", "gate.png", "image/png", image)])
    headers = {**FORM, "idempotency-key": uuid.uuid4().hex}
    await caller.call("image edit", "POST", "/v1/images/edits", body, headers=headers.items())


async def image_generation(caller):
    body = {"model": "demo-endpoints", "prompt": "a gate", "size": "1024x1024"}
    await caller.call("image generation", "POST", "/v1/images/generations", body)


async def image_variation(caller):
    body = form({"model": "demo-endpoints"}, [("image", "gate.png", "image/png", SMALL_IMAGE)])
    await caller.call("image variation", "POST", "/v1/images/variations", body, headers=FORM.items())


async def transcription(caller):
    path = caller.random.choice(("transcriptions", "translations"))
    size = caller.random.choice((1, 1, 50))
    body = form({"model": "demo-whisper"}, [("file", "gate.wav", "audio/wav", SOUND * size)])
    await caller.call(path, "POST", f"/v1/audio/{path}", body, headers=FORM.items())


async def file(caller):
    content = LARGE_IMAGE if caller.random.random() < 0.1 else SMALL_IMAGE
    body = form({"purpose": "user_data"}, [("file", "notes.bin", "application/octet-stream", content)])
    made = (await caller.call("file uploaded", "POST", "/v1/files", body, headers=FORM.items())).json()
    await caller.call("file read", "GET", f"/v1/files/{made['id']}/content")
    await caller.call("file deleted", "DELETE", f"/v1/files/{made['id']}")


async def upload_in_parts(caller):
    content = SMALL_IMAGE
    half = len(content) // 2
    body = {"filename": "notes.bin", "purpose": "user_data", "bytes": len(content), "mime_type": "text/plain"}
    upload = (await caller.call("upload begun", "POST", "/v1/uploads", body)).json()
    parts = []
    for data in (content[:half], content[half:]):
        part = form({}, [("data", "part", "application/octet-stream", data)])
        path = f"/v1/uploads/{upload['id']}/parts"
        parts.append((await caller.call("upload part", "POST", path, part, headers=FORM.items())).json()["id"])
    await caller.call("upload completed", "POST", f"/v1/uploads/{upload['id']}/complete", {"part_ids": parts})


async def batch(caller):
    path = "/v1/chat/completions"
    chat = {"model": "demo-chat", "messages": [{"role": "user", "content": "Hi"}]}
    lines = [json.dumps({"custom_id": str(n), "method": "POST", "url": path, "body": chat}) for n in range(5)]
    body = form({"purpose": "batch"}, [("file", "batch.jsonl", "application/jsonl", "\n".join(lines).encode())])
    made = (await caller.call("batch file", "POST", "/v1/files", body, headers=FORM.items())).json()
    create = {"input_file_id": made["id"], "endpoint": path, "completion_window": "24h"}
    job = (await caller.call("batch created", "POST", "/v1/batches", create)).json()
    if caller.random.random() < 0.2:
        await caller.call("batch cancelled", "POST", f"/v1/batches/{job['id']}/cancel")
    for _ in range(20):
        job = (await caller.call("batch polled", "GET", f"/v1/batches/{job['id']}")).json()
        if job["status"] not in ("validating", "in_progress", "finalizing", "cancelling"):
            break
        await asyncio.sleep(0.2)
    if job.get("output_file_id"):
        await caller.call("batch output", "GET", f"/v1/files/{job['output_file_id']}/content")


async def message_batch(caller):
    params = {"model": "demo-chat", "max_tokens": 64, "messages": [{"role": "user", "content": "Hi"}]}
    body = {"requests": [{"custom_id": str(n), "params": params} for n in range(5)]}
    path = "/v1/messages/batches"
    job = (await caller.call("message batch created", "POST", path, body)).json()
    for _ in range(20):
        job = (await caller.call("message batch polled", "GET", f"{path}/{job['id']}")).json()
        if job["processing_status"] == "ended":
            break
        await asyncio.sleep(0.2)
    await caller.call("message batch results", "GET", f"{path}/{job['id']}/results")
    await caller.call("message batch deleted", "DELETE", f"{path}/{job['id']}")


async def vector_store(caller):
    store = (await caller.call("vector store created", "POST", "/v1/vector_stores", {"name": "soak"})).json()
    await caller.call("vector store searched", "POST", f"/v1/vector_stores/{store['id']}/search", {"query": "water"})
    await caller.call("vector store deleted", "DELETE", f"/v1/vector_stores/{store['id']}")


async def container(caller):
    made = (await caller.call("container created", "POST", "/v1/containers", {"name": "box"})).json()
    body = form({}, [("file", "notes.bin", "application/octet-stream", SMALL_IMAGE)])
    path = f"/v1/containers/{made['id']}"
    await caller.call("container file", "POST", f"{path}/files", body, headers=FORM.items())
    await caller.call("container deleted", "DELETE", path)


# Scenario and its weight.
SCENARIOS = [
    (image_edit, 1.5),
    (image_generation, 1),
    (image_variation, 0.5),
    (transcription, 1.5),
    (file, 1),
    (upload_in_parts, 0.5),
    (batch, 0.4),
    (message_batch, 0.4),
    (vector_store, 0.5),
    (container, 0.5),
]
