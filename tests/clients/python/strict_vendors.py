"""The strict provider with Gemini's API and Bedrock's Converse beside its own protocols; see strict_provider.py."""

import json
import re
import struct
import uuid
import zlib
from http.server import ThreadingHTTPServer

from strict_checks import NAME, Violation, check_messages, known, media, require, sealed, signature, unsealed
from strict_provider import EMITTED, PREFIXES, VIOLATIONS, StrictProvider, Turn, pieces

EMITTED |= {"gemini": {}, "converse": {}}
PREFIXES |= {"gemini": "fc_", "converse": "tooluse_"}
PARTS = {"text", "thought", "thoughtSignature", "inlineData", "functionCall", "functionResponse"}
GEMINI = {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "labels"}
CONVERSE = {
    "messages", "system", "inferenceConfig", "toolConfig", "additionalModelRequestFields", "additionalModelResponseFieldPaths",
    "requestMetadata", "performanceConfig", "outputConfig", "serviceTier",
}
MEDIA = {"png": "image/png", "pdf": "application/pdf"}


def check_gemini(body):
    """The thoughts of the last tool loop, which only signatures carry, and the numbers of results, images and documents."""
    known(body, GEMINI, "body")
    seen = {"thoughts": [], "images": 0, "documents": 0, "results": 0}
    calls, follows_results = [], False
    require(body["contents"][0]["role"] == "user", "contents: must begin with a user's content")
    for index, content in enumerate(body["contents"]):
        at = f"contents[{index}]"
        known(content, {"role", "parts"}, at)
        parts = content["parts"]
        require(parts, f"{at}.parts: must not be empty")
        for part in parts:
            known(part, PARTS, at)
        inner = [part for given in parts for part in given.get("functionResponse", {}).get("parts", [])]
        for part in [*parts, *inner]:
            if inline := part.get("inlineData"):
                known(inline, {"mimeType", "data", "displayName"}, at)
                media(inline["data"], inline["mimeType"], at)
                seen["images" if inline["mimeType"].startswith("image/") else "documents"] += 1
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if content["role"] == "user":
            names = sorted((result.get("id"), result["name"]) for result in results)
            require(names == sorted(calls), f"{at}: function responses {names} are not those of the calls {calls}")
            require(all(isinstance(result["response"], dict) for result in results), f"{at}: a response is no object")
            seen["results"] += len(results)
            # Images and documents of tools are a content of the user behind the results.
            if not results and not follows_results:
                seen["thoughts"], seen["results"] = [], 0
            calls, follows_results = [], bool(results)
            continue
        follows_results = False
        require(content["role"] == "model" and not calls, f"{at}: calls without responses: {calls}")
        made = [part for part in parts if "functionCall" in part]
        calls = [(part["functionCall"].get("id"), part["functionCall"]["name"]) for part in made]
        require(not any("_hg1_" in str(id) for id, _ in calls), f"{at}: an id of {calls} has a handle")
        if made:
            require(made[0].get("thoughtSignature"), f"Function call `{calls[0][1]}` in the {index}. content block is missing a `thought_signature`.")
            thoughts = unsealed(made[0]["thoughtSignature"])
            require(thoughts == EMITTED["gemini"].get(calls[0][0]), f"{at}: the signature is of another call")
            seen["thoughts"].append(thoughts)
    require(not calls, f"calls without responses: {calls}")
    return seen


def gemini_response(body, is_stream):
    seen = check_gemini(body)
    declarations = [tool for tools in body.get("tools", []) for tool in tools.get("functionDeclarations", [])]
    require(all(NAME.match(tool["name"]) for tool in declarations), "tools.name: does not match the pattern")
    turn = Turn(body, seen, [tool["name"] for tool in declarations], True, "gemini")
    # The summary of the thoughts lacks the word.
    parts = [{"text": "I think.", "thought": True}] if turn.thoughts else []
    parts += [{"text": turn.text}]
    for number, (id, name, arguments) in enumerate(turn.calls):
        part = {"functionCall": {"id": id, "name": name, "args": json.loads(arguments)}}
        parts.append(part | ({"thoughtSignature": sealed(turn.thoughts)} if number == 0 else {}))
    head = {"modelVersion": "gemini-3", "responseId": uuid.uuid4().hex}
    usage = {"promptTokenCount": 20, "candidatesTokenCount": 9, "totalTokenCount": 29}

    def chunk(parts, **end):
        candidate = {"index": 0, "content": {"role": "model", "parts": parts}, **end}
        return {"candidates": [candidate], "usageMetadata": usage, **head}

    if not is_stream:
        return chunk(parts, finishReason="STOP")
    chunks = []
    for part in parts:
        chunks += [chunk([{**part, "text": piece}]) for piece in pieces(part["text"])] if "text" in part else [chunk([part])]
    chunks.append(chunk([{"text": ""}], finishReason="STOP"))
    return b"".join(b"data: %s\r\n\r\n" % json.dumps(event).encode() for event in chunks)


def block_from_converse(block, at):
    """The block of Anthropic's API that has the same content."""
    (kind, value), *others = block.items()
    require(not others, f"{at}: a block has one member, not {sorted(block)}")
    if kind == "text":
        return {"type": "text", "text": value}
    if kind in ("image", "document"):
        known(value, {"format", "name", "source"}, at)
        require(kind == "image" or re.fullmatch(r"[\w\-()\[\] ]{1,200}", value["name"], re.ASCII), f"{at}: the name of a document")
        source = {"type": "base64", "media_type": MEDIA.get(value["format"]), "data": value["source"]["bytes"]}
        return {"type": kind, "source": source}
    if kind == "toolUse":
        known(value, {"toolUseId", "name", "input"}, at)
        return {"type": "tool_use", "id": value["toolUseId"], "name": value["name"], "input": value["input"]}
    if kind == "toolResult":
        known(value, {"toolUseId", "content", "status"}, at)
        inner = [{"text": json.dumps(part["json"])} if "json" in part else part for part in value["content"]]
        return {"type": "tool_result", "tool_use_id": value["toolUseId"], "content": [block_from_converse(part, at) for part in inner]}
    require(kind == "reasoningContent", f"{at}: the block {kind}")
    if "redactedContent" in value:
        return {"type": "redacted_thinking", "data": value["redactedContent"]}
    thinking = value["reasoningText"]
    return {"type": "thinking", "thinking": thinking["text"], "signature": thinking["signature"]}


def check_converse(body):
    known(body, CONVERSE, "body")
    known(body.get("toolConfig", {}), {"tools", "toolChoice"}, "toolConfig")
    config = body.get("inferenceConfig", {})
    known(config, {"maxTokens", "temperature", "topP", "stopSequences"}, "inferenceConfig")
    own = body.get("additionalModelRequestFields", {})
    known(own, {"thinking", "top_k", "tool_choice", "anthropic_beta", "output_config"}, "additionalModelRequestFields")
    toolbox = body.get("toolConfig", {}).get("tools", [])
    contents = [message["content"] for message in body["messages"]]
    marks = [block["cachePoint"] for blocks in (body.get("system", []), toolbox, *contents) for block in blocks if "cachePoint" in block]
    require(len(marks) <= 4 and all(mark["type"] == "default" for mark in marks), f"the cache points {marks}")
    messages = [
        {"role": message["role"], "content": [block_from_converse(block, f"messages.{index}") for block in content if "cachePoint" not in block]}
        for index, (message, content) in enumerate(zip(body["messages"], contents))
    ]
    for index, message in enumerate(messages):
        kinds = {block["type"] for block in message["content"]}
        require("document" not in kinds or "text" in kinds, f"messages.{index}: a document needs a text")
    tools = [tool["toolSpec"] for tool in toolbox if "toolSpec" in tool]
    as_messages = {
        "messages": messages,
        "max_tokens": config.get("maxTokens", 64_000),
        "tools": [{"name": tool["name"], "input_schema": tool["inputSchema"]["json"]} for tool in tools],
    }
    if "thinking" in own:
        as_messages["thinking"] = own["thinking"]
    return check_messages(as_messages, EMITTED["converse"]), [tool["name"] for tool in tools]


def converse_response(body, is_stream):
    seen, tools = check_converse(body)
    own = body.get("additionalModelRequestFields", {})
    is_parallel = not (own.get("tool_choice") or {}).get("disable_parallel_tool_use")
    turn = Turn(body, seen, tools, is_parallel, "converse")
    blocks = []
    if turn.thoughts and (own.get("thinking") or {}).get("type") in ("enabled", "adaptive"):
        text = {"text": turn.thoughts, "signature": signature(turn.thoughts)}
        blocks.append({"reasoningContent": {"reasoningText": text}})
        blocks.append({"reasoningContent": {"redactedContent": sealed("hidden")}})
    blocks.append({"text": turn.text})
    blocks += [{"toolUse": {"toolUseId": id, "name": name, "input": json.loads(arguments)}} for id, name, arguments in turn.calls]
    reason = "tool_use" if turn.calls else "end_turn"
    end = {"usage": {"inputTokens": 20, "outputTokens": 9, "totalTokens": 29}, "metrics": {"latencyMs": 1}}
    if not is_stream:
        return {"output": {"message": {"role": "assistant", "content": blocks}}, "stopReason": reason, **end}
    events = [frame("messageStart", {"role": "assistant"})]
    for index, block in enumerate(blocks):
        at = {"contentBlockIndex": index}
        ((kind, value),) = block.items()
        if kind == "toolUse":
            start = {"toolUse": {"toolUseId": value["toolUseId"], "name": value["name"]}}
            events.append(frame("contentBlockStart", {**at, "start": start}))
        events += [frame("contentBlockDelta", {**at, "delta": {kind: delta}}) for delta in converse_deltas(kind, value)]
        events.append(frame("contentBlockStop", at))
    return b"".join([*events, frame("messageStop", {"stopReason": reason}), frame("metadata", end)])


def converse_deltas(kind, value):
    if kind == "text":
        return pieces(value)
    if kind == "toolUse":
        return [{"input": piece} for piece in pieces(json.dumps(value["input"]))]
    if "redactedContent" in value:
        return [value]
    text = value["reasoningText"]
    return [{"text": piece} for piece in pieces(text["text"])] + [{"signature": text["signature"]}]


def frame(event, payload):
    """A message of `application/vnd.amazon.eventstream`."""
    fields = {":event-type": event, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode() for name, value in fields.items()
    )
    data = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(data), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + data
    return message + struct.pack(">I", zlib.crc32(message))


# The path's end, the response, whether it is a stream, and the type of this one.
CALLS = {
    ":generateContent": (gemini_response, False, None),
    ":streamGenerateContent": (gemini_response, True, "text/event-stream"),
    "/converse": (converse_response, False, None),
    "/converse-stream": (converse_response, True, "application/vnd.amazon.eventstream"),
}


class StrictVendors(StrictProvider):
    def do_POST(self):
        path = self.path.partition("?")[0]
        call = next((call for end, call in CALLS.items() if path.endswith(end)), None)
        if call is None:
            return super().do_POST()
        respond, is_stream, content_type = call
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            answer = respond(body, is_stream)
        except (Violation, KeyError, TypeError, ValueError) as error:
            message = str(error) if isinstance(error, Violation) else repr(error)
            VIOLATIONS.append({"path": self.path, "message": message, "body": body})
            if respond is converse_response:
                return self.reply(400, {"message": message})
            return self.reply(400, {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})
        if not is_stream:
            return self.reply(200, answer)
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


def serve(port=0):
    return ThreadingHTTPServer(("127.0.0.1", port), StrictVendors)
