"""What providers of chat, messages and responses check of a request: a violation is a 400 with their words."""

import base64
import hashlib
import hmac
import json
import re

SECRET = b"provider"
NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
SAMPLING = {"model", "stream", "temperature", "top_p", "tools", "tool_choice"}
CHAT = SAMPLING | {
    "messages", "stream_options", "max_tokens", "max_completion_tokens", "stop", "parallel_tool_calls", "reasoning_effort",
    "response_format", "user", "seed", "frequency_penalty", "presence_penalty", "n", "metadata", "store", "service_tier",
    "verbosity", "prompt_cache_key", "safety_identifier", "thinking",
}
MESSAGES = SAMPLING | {
    "messages", "max_tokens", "system", "metadata", "stop_sequences", "top_k", "thinking", "service_tier", "output_config",
}
RESPONSES = SAMPLING | {
    "input", "instructions", "max_output_tokens", "parallel_tool_calls", "reasoning", "text", "store", "stream_options",
    "include", "metadata", "user", "truncation", "service_tier", "prompt_cache_key", "safety_identifier", "max_tool_calls",
}
CHAT_ROLES = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal", "reasoning_content"},
    "tool": {"role", "content", "tool_call_id"},
}
CHAT_PARTS = {"text": {"text"}, "image_url": {"image_url"}, "file": {"file"}, "refusal": {"refusal"}}
BLOCKS = {
    "text": {"text", "citations"},
    "image": {"source"},
    "document": {"source", "title", "context", "citations"},
    "tool_use": {"id", "name", "input"},
    "tool_result": {"tool_use_id", "content", "is_error"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
}
ITEMS = {
    "message": {"role", "content", "id", "status", "phase"},
    "function_call": {"id", "call_id", "name", "arguments", "status"},
    "function_call_output": {"id", "call_id", "output", "status"},
    "custom_tool_call": {"id", "call_id", "name", "input", "status"},
    "custom_tool_call_output": {"id", "call_id", "output"},
    "reasoning": {"id", "summary", "content", "encrypted_content", "status"},
}
INPUT_PARTS = {
    "input_text": {"text"},
    "input_image": {"image_url", "detail"},
    "input_file": {"file_data", "filename", "file_url"},
    "output_text": {"text", "annotations", "logprobs"},
    "refusal": {"refusal"},
}
MAGIC = {"image/png": b"\x89PNG", "application/pdf": b"%PDF"}


class Violation(Exception):
    """The request breaks the protocol."""


def require(condition, message):
    if not condition:
        raise Violation(message)


def signature(text):
    return base64.b64encode(hmac.digest(SECRET, text.encode(), "sha256")).decode()


def sealed(text):
    return base64.b64encode(json.dumps([text, signature(text)]).encode()).decode()


def unsealed(data):
    try:
        text, proof = json.loads(base64.b64decode(data, validate=True))
    except (ValueError, TypeError):
        raise Violation("The encrypted content could not be verified.") from None
    require(proof == signature(text), "The encrypted content could not be verified.")
    return text


def word_in(thoughts):
    return re.findall(r"The secret word is (\w+)\.", thoughts)


def word_for(nonce, step):
    return "w" + hashlib.sha256(f"{nonce}/{step}".encode()).hexdigest()[:10]


def known(value, names, where):
    require(isinstance(value, dict), f"{where}: must be an object")
    for name in value:
        require(name in names, f"{where}.{name}: Extra inputs are not permitted")


def typed(part, table, where):
    kind = part.get("type")
    require(kind in table, f"{where}: type {kind!r} is not supported")
    known(part, table[kind] | {"type"}, where)
    return kind


def media(data_uri_or_data, media_type, where):
    data = data_uri_or_data
    if data.startswith("data:"):
        media_type, _, data = data[5:].partition(";base64,")
    require(media_type in MAGIC, f"{where}: media type {media_type!r} is not supported")
    require(base64.b64decode(data, validate=True).startswith(MAGIC[media_type]), f"{where}: is no {media_type}")


def check_chat(body, emitted):
    """The thoughts of the last tool loop, and the numbers of images and documents."""
    known(body, CHAT, "body")
    for tool in body.get("tools", []):
        known(tool, {"type", "function"}, "tools")
        known(tool["function"], {"name", "description", "parameters", "strict"}, "tools.function")
        require(NAME.match(tool["function"]["name"]), "tools.function.name: does not match the pattern")
    seen = {"thoughts": [], "images": 0, "documents": 0, "results": 0}
    waiting = []
    for index, message in enumerate(body["messages"]):
        at = f"messages[{index}]"
        role = message.get("role")
        require(role in CHAT_ROLES, f"{at}: role {role!r}")
        known(message, CHAT_ROLES[role], at)
        content = message.get("content")
        parts = content if isinstance(content, list) else []
        require(role != "tool" or all(part.get("type") == "text" for part in parts), f"{at}: tools give only text")
        for part in parts:
            kind = typed(part, CHAT_PARTS, at)
            if kind == "image_url":
                media(part["image_url"]["url"], None, at)
                seen["images"] += 1
            elif kind == "file":
                known(part["file"], {"file_data", "filename"}, at)
                media(part["file"]["file_data"], None, at)
                seen["documents"] += 1
        if role == "tool":
            require(message.get("tool_call_id") in waiting, f"{at}: messages with role 'tool' must be a response to a preceding message with 'tool_calls'")
            waiting.remove(message["tool_call_id"])
            seen["results"] += 1
            continue
        require(not waiting, f"An assistant message with 'tool_calls' must be followed by tool messages; missing: {waiting}")
        # What a tool gave besides text may stand in a message of the user behind its result.
        if role == "user" and body["messages"][index - 1]["role"] != "tool":
            seen["thoughts"], seen["results"] = [], 0
        for call in message.get("tool_calls") or []:
            known(call, {"id", "type", "function"}, at)
            known(call["function"], {"name", "arguments"}, at)
            require(isinstance(json.loads(call["function"]["arguments"]), dict), f"{at}: arguments are no object")
            require("_hg1_" not in call["id"], f"{at}: the id {call['id']!r} has a handle")
            waiting.append(call["id"])
        if waiting:
            thoughts = message.get("reasoning_content")
            require(thoughts is not None, "The `reasoning_content` in the thinking mode must be passed back to the API.")
            require(thoughts == emitted.get(waiting[0], ""), f"{at}: reasoning_content was changed")
            seen["thoughts"].append(thoughts)
    require(not waiting, f"An assistant message with 'tool_calls' must be followed by tool messages; missing: {waiting}")
    return seen


def check_block(block, at, seen):
    kind = typed(block, {kind: names | {"cache_control"} for kind, names in BLOCKS.items()}, at)
    if kind == "text":
        require(block["text"].strip(), f"{at}: text content blocks must contain non-whitespace text")
    elif kind in ("image", "document"):
        source = block["source"]
        known(source, {"type", "media_type", "data", "url"}, at)
        if source["type"] == "base64":
            media(source["data"], source["media_type"], at)
        seen["images" if kind == "image" else "documents"] += 1
    elif kind == "thinking":
        require(block["signature"] == signature(block["thinking"]), f"{at}: Invalid `signature` in `thinking` block")
    elif kind == "redacted_thinking":
        unsealed(block["data"])
    elif kind == "tool_use":
        require(NAME.match(block["id"]), f"{at}: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        require(isinstance(block["input"], dict), f"{at}: tool_use.input: Input should be a valid dictionary")
    elif kind == "tool_result":
        for inner in block["content"] if isinstance(block.get("content"), list) else []:
            require(inner.get("type") in ("text", "image", "document"), f"{at}: {inner.get('type')} in a result")
            check_block(inner, at, seen)
    return kind


def check_messages(body, emitted):
    known(body, MESSAGES, "body")
    limit = body.get("max_tokens")
    require(isinstance(limit, int) and limit > 0, "max_tokens: Field required")
    thinking = body.get("thinking") or {"type": "disabled"}
    known(thinking, {"type", "budget_tokens", "display"}, "thinking")
    if thinking["type"] == "enabled":
        require(1024 <= thinking["budget_tokens"] < limit, "`max_tokens` must be greater than `thinking.budget_tokens`")
    if thinking["type"] != "disabled":
        require(body.get("temperature", 1) == 1, "`temperature` may only be set to 1 when thinking is enabled")
        require((body.get("tool_choice") or {}).get("type") not in ("any", "tool"), "Thinking may not be enabled when tool_choice forces tool use.")
    for tool in body.get("tools", []):
        known(tool, {"type", "name", "description", "input_schema", "cache_control", "strict"}, "tools")
        require(NAME.match(tool["name"]), "tools.name: String should match pattern")
        require(tool["input_schema"].get("type") == "object", "tools.input_schema.type: Field required")
    system = body.get("system")
    for block in system if isinstance(system, list) else []:
        require(check_block(block, "system", {}) == "text", "system: takes only text")
    seen = {"thoughts": [], "images": 0, "documents": 0, "results": 0}
    calls, author, starts_with_thoughts = [], None, True
    for index, message in enumerate(body["messages"]):
        at = f"messages.{index}"
        known(message, {"role", "content"}, at)
        role, content = message["role"], message["content"]
        require(role != author and (author or role == "user"), f"{at}: roles must alternate between \"user\" and \"assistant\"")
        author = role
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        require(blocks, f"{at}: content must not be empty")
        kinds = [check_block(block, f"{at}.content.{number}", seen) for number, block in enumerate(blocks)]
        if role == "user":
            results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
            require(sorted(results) == sorted(calls), f"{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {calls}, {results}")
            require(kinds[: len(results)] == ["tool_result"] * len(results), f"{at}: tool_result blocks must come first")
            seen["results"] += len(results)
            if not results:
                seen["thoughts"], seen["results"] = [], 0
            calls = []
            continue
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        require(not any("_hg1_" in id for id in calls), f"{at}: an id of {calls} has a handle")
        thoughts = [block["thinking"] for block in blocks if block["type"] == "thinking"]
        starts_with_thoughts = kinds[0] in ("thinking", "redacted_thinking")
        if calls and thoughts:
            require("".join(thoughts) == emitted.get(calls[0]), f"{at}: `thinking` blocks in the latest assistant message cannot be modified")
        seen["thoughts"] += thoughts
    require(author != "assistant", "This model does not support assistant message prefill.")
    if thinking["type"] == "enabled" and seen["results"]:
        require(starts_with_thoughts, "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block")
    return seen


def check_content(parts, at, seen):
    for part in parts if isinstance(parts, list) else []:
        kind = typed(part, INPUT_PARTS, at)
        if kind == "input_image":
            media(part["image_url"], None, at)
            seen["images"] += 1
        elif kind == "input_file":
            media(part["file_data"], None, at)
            seen["documents"] += 1


def check_responses(body, emitted):
    known(body, RESPONSES, "body")
    require(body.get("store") is False, "this account stores no responses")
    for tool in body.get("tools", []):
        require(tool["type"] == "function", f"tools.type: {tool['type']}")
        known(tool, {"type", "name", "description", "parameters", "strict"}, "tools")
        require(NAME.match(tool["name"]), "tools.name: does not match the pattern")
        if tool.get("strict", True):
            schema = tool["parameters"]
            require(schema.get("additionalProperties") is False and sorted(schema.get("required", [])) == sorted(schema.get("properties", {})), "Invalid schema for function: 'required' and 'additionalProperties' in strict mode")
    items = body["input"]
    items = [{"type": "message", "role": "user", "content": items}] if isinstance(items, str) else items
    seen = {"thoughts": [], "images": 0, "documents": 0, "results": 0}
    calls, thoughts = [], None
    for index, item in enumerate(items):
        at = f"input[{index}]"
        item = {"type": "message", **item}
        kind = typed(item, ITEMS, at)
        prefix = {"message": "msg", "function_call": "fc", "reasoning": "rs"}.get(kind)
        require(not item.get("id") or not prefix or item["id"].startswith(prefix), f"{at}.id: Expected an ID that begins with '{prefix}'")
        if kind == "reasoning":
            require(item.get("encrypted_content"), f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` is set to false.")
            require(isinstance(item.get("summary"), list), f"{at}.summary: is required")
            thoughts = (thoughts or "") + unsealed(item["encrypted_content"])
            continue
        if kind == "message" and item["role"] != "assistant":
            require(thoughts is None, "Item of type 'reasoning' was provided without its required following item.")
            check_content(item["content"], at, seen)
            if item["role"] == "user" and items[index - 1].get("type") != "function_call_output":
                seen["thoughts"], seen["results"] = [], 0
        elif kind == "function_call":
            require(isinstance(json.loads(item["arguments"]), dict), f"{at}: arguments are no object")
            require("_hg1_" not in item["call_id"], f"{at}: the id {item['call_id']!r} has a handle")
            require(thoughts is None or thoughts == emitted.get(item["call_id"]), f"{at}: does not follow its reasoning")
            calls.append(item["call_id"])
        elif kind == "function_call_output":
            require(item["call_id"] in calls, f"No tool call found for function call output with call_id {item['call_id']}.")
            calls.remove(item["call_id"])
            check_content(item["output"], at, seen)
            seen["results"] += 1
        if thoughts is not None:
            seen["thoughts"].append(thoughts)
            thoughts = None
    require(thoughts is None, "Item of type 'reasoning' was provided without its required following item.")
    require(not calls, f"No tool output found for function call {calls}.")
    return seen
