"""A provider of chat, messages and responses that checks requests as real ones do: `strict_provider.py PORT_FILE`.

Its model calls tools twice, one call after the other, or two at a time if the request allows it, and thinks of a word
before each call. Its answer has only what came back: the words in its thoughts, and the numbers of results, images and
documents. The word follows from the text `probe-…` in the conversation (`strict_checks.word_for`).

`GET /violations` returns what it refused, as JSON.
"""

import json
import re
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from strict_checks import (
    Violation, check_chat, check_messages, check_responses, require, sealed, signature, word_for, word_in,
)

STEPS = 2
PREFIXES = {"chat": "call_", "messages": "toolu_", "responses": "call_"}
# The thoughts before each call, by its id.
EMITTED = {"chat": {}, "messages": {}, "responses": {}}
VIOLATIONS = []
# Arguments for the tools of agents.
AGENT_TOOLS = {
    "Bash": lambda word: {"command": f"echo {word}", "description": "prints a word"},
    "shell": lambda word: {"command": ["echo", word]},
    "exec_command": lambda word: {"cmd": f"echo {word}"},
    "shell_command": lambda word: {"command": f"echo {word}"},
    "look": lambda word: {"place": word},
}
# Tools of agents that read a file, which a text `read:…` names.
READING_TOOLS = {"Read": lambda path: {"file_path": path}, "view_image": lambda path: {"path": path}}


class Turn:
    """What the model says next."""

    def __init__(self, body, seen, tools, is_parallel, protocol):
        text = json.dumps(body)
        nonces = re.findall(r"probe-(\w+)", text)
        tool = next((name for name in AGENT_TOOLS if name in tools), None)
        step = len(seen["thoughts"]) if seen["thoughts"] else seen["results"]
        self.thoughts, self.calls, self.text = "", [], ""
        if tool and step < STEPS and nonces:
            self.thoughts = f"The secret word is {word_for(nonces[0], step)}."
            self.text = "I look."
            places = ["lake", "hill"] if is_parallel and step == 0 else ["lake"]
            asked = [(tool, AGENT_TOOLS[tool](place)) for place in places]
            paths = re.findall(r"read:(/[\w./-]+)", text)
            reader = next((name for name in READING_TOOLS if name in tools), None)
            if reader and step == 0:
                asked += [(reader, READING_TOOLS[reader](path)) for path in dict.fromkeys(paths)]
            for name, arguments in asked:
                id = f"{PREFIXES[protocol]}{uuid.uuid4().hex[:24]}"
                EMITTED[protocol][id] = self.thoughts
                self.calls.append((id, name, json.dumps(arguments)))
        else:
            words = " ".join(word for thoughts in seen["thoughts"] for word in word_in(thoughts))
            counts = " ".join(f"{name}={seen[name]}" for name in ("results", "images", "documents"))
            self.text = f"RECALL {words or 'nothing'} {counts}"


def pieces(text, size=7):
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def chat_response(body):
    seen = check_chat(body, EMITTED["chat"])
    tools = [tool["function"]["name"] for tool in body.get("tools", [])]
    turn = Turn(body, seen, tools, body.get("parallel_tool_calls") is not False, "chat")
    usage = {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29}
    head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": 1, "model": body["model"]}
    reason = "tool_calls" if turn.calls else "stop"
    calls = [{"id": id, "type": "function", "function": {"name": name, "arguments": arguments}} for id, name, arguments in turn.calls]
    if not body.get("stream"):
        message = {"role": "assistant", "content": turn.text, "reasoning_content": turn.thoughts}
        message |= {"tool_calls": calls} if calls else {}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}

    def chunk(delta, finish=None):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return None, {**head, "object": "chat.completion.chunk", "choices": [choice]}

    events = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"reasoning_content": piece}) for piece in pieces(turn.thoughts)]
    events += [chunk({"content": piece}) for piece in pieces(turn.text)]
    for index, call in enumerate(calls):
        opening = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        events.append(chunk({"tool_calls": [opening]}))
    # Parallel calls come interleaved.
    rows = [pieces(call["function"]["arguments"]) for call in calls]
    for place in range(max(map(len, rows), default=0)):
        for index, row in enumerate(rows):
            if place < len(row):
                events.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": row[place]}}]}))
    events.append(chunk({}, reason))
    if (body.get("stream_options") or {}).get("include_usage"):
        events.append((None, {**head, "object": "chat.completion.chunk", "choices": [], "usage": usage}))
    return [*events, (None, "[DONE]")]


def messages_response(body):
    seen = check_messages(body, EMITTED["messages"])
    tools = [tool["name"] for tool in body.get("tools", [])]
    is_parallel = not (body.get("tool_choice") or {}).get("disable_parallel_tool_use")
    turn = Turn(body, seen, tools, is_parallel, "messages")
    blocks = []
    if turn.thoughts and (body.get("thinking") or {}).get("type") in ("enabled", "adaptive"):
        blocks.append({"type": "thinking", "thinking": turn.thoughts, "signature": signature(turn.thoughts)})
        blocks.append({"type": "redacted_thinking", "data": sealed("hidden")})
    blocks.append({"type": "text", "text": turn.text})
    blocks += [{"type": "tool_use", "id": id, "name": name, "input": json.loads(arguments)} for id, name, arguments in turn.calls]
    reason = "tool_use" if turn.calls else "end_turn"
    usage = {"input_tokens": 20, "output_tokens": 9}
    message = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": body["model"]}
    if not body.get("stream"):
        return {**message, "content": blocks, "stop_reason": reason, "stop_sequence": None, "usage": usage}
    start = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "usage": {**usage, "output_tokens": 1}}
    events = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(blocks):
        deltas = {
            "thinking": lambda: [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
            + [{"type": "signature_delta", "signature": block["signature"]}],
            "redacted_thinking": list,
            "text": lambda: [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])],
            "tool_use": lambda: [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(json.dumps(block["input"]))],
        }[block["type"]]()
        empty = {"thinking": {"thinking": "", "signature": ""}, "text": {"text": ""}, "tool_use": {"input": {}}}
        opening = {**block, **empty.get(block["type"], {})}
        events.append({"type": "content_block_start", "index": index, "content_block": opening})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 9}})
    events.append({"type": "message_stop"})
    return [(event["type"], event) for event in events]


def responses_response(body):
    seen = check_responses(body, EMITTED["responses"])
    tools = [tool["name"] for tool in body.get("tools", [])]
    turn = Turn(body, seen, tools, body.get("parallel_tool_calls") is not False, "responses")
    asks = "reasoning.encrypted_content" in (body.get("include") or [])
    output = []
    if turn.thoughts:
        # The summary lacks the word: only the sealed thoughts have it.
        item = {"type": "reasoning", "id": f"rs_{uuid.uuid4().hex}", "summary": [{"type": "summary_text", "text": "I think."}]}
        output.append(item | ({"encrypted_content": sealed(turn.thoughts)} if asks else {}))
    content = [{"type": "output_text", "text": turn.text, "annotations": []}]
    message = {"type": "message", "id": f"msg_{uuid.uuid4().hex}", "role": "assistant", "status": "completed", "content": content}
    output += [] if turn.calls else [message]
    output += [
        {"type": "function_call", "id": f"fc_{uuid.uuid4().hex}", "call_id": id, "name": name, "arguments": arguments, "status": "completed"}
        for id, name, arguments in turn.calls
    ]
    usage = {
        "input_tokens": 20, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4}, "total_tokens": 29,
    }
    response = {
        "id": f"resp_{uuid.uuid4().hex}", "object": "response", "created_at": 1, "status": "completed", "model": body["model"], "output": output,
        "error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "parallel_tool_calls": True,
        "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0, "store": False, "usage": usage,
    }
    if not body.get("stream"):
        return response
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    events = [{"type": "response.created", "response": begun}, {"type": "response.in_progress", "response": begun}]
    for index, item in enumerate(output):
        events += item_events(index, item)
    events.append({"type": "response.completed", "response": response})
    return [(event["type"], {**event, "sequence_number": number}) for number, event in enumerate(events)]


def item_events(index, item):
    at = {"output_index": index, "item_id": item["id"]}
    begun = {"reasoning": {"summary": []}, "message": {"content": [], "status": "in_progress"}, "function_call": {"arguments": "", "status": "in_progress"}}
    events = [{"type": "response.output_item.added", "output_index": index, "item": {**item, **begun[item["type"]]}}]
    if item["type"] == "reasoning":
        part = item["summary"][0]
        at |= {"summary_index": 0}
        events.append({"type": "response.reasoning_summary_part.added", **at, "part": {**part, "text": ""}})
        events += [{"type": "response.reasoning_summary_text.delta", **at, "delta": piece} for piece in pieces(part["text"])]
        events.append({"type": "response.reasoning_summary_text.done", **at, "text": part["text"]})
        events.append({"type": "response.reasoning_summary_part.done", **at, "part": part})
    elif item["type"] == "message":
        part = item["content"][0]
        at |= {"content_index": 0}
        events.append({"type": "response.content_part.added", **at, "part": {**part, "text": ""}})
        events += [{"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []} for piece in pieces(part["text"])]
        events.append({"type": "response.output_text.done", **at, "text": part["text"], "logprobs": []})
        events.append({"type": "response.content_part.done", **at, "part": part})
    else:
        events += [{"type": "response.function_call_arguments.delta", **at, "delta": piece} for piece in pieces(item["arguments"])]
        events.append({"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]})
    return [*events, {"type": "response.output_item.done", "output_index": index, "item": item}]


ENDPOINTS = {
    "/v1/chat/completions": chat_response,
    "/v1/messages": messages_response,
    "/v1/responses": responses_response,
}


class StrictProvider(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.reply(200, VIOLATIONS)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            path = self.path.partition("?")[0]
            require(path in ENDPOINTS, f"no endpoint {path}")
            if self.path.endswith("?beta=true"):
                body.pop("context_management", None)
            if path == "/v1/messages":
                require(self.headers.get("anthropic-version"), "anthropic-version: header is required")
            answer = ENDPOINTS[path](body)
        except (Violation, KeyError, TypeError, ValueError) as error:
            message = str(error) if isinstance(error, Violation) else repr(error)
            VIOLATIONS.append({"path": self.path, "message": message, "body": body})
            error = {"message": message, "type": "invalid_request_error"}
            if self.path == "/v1/messages":
                return self.reply(400, {"type": "error", "error": error})
            return self.reply(400, {"error": {**error, "param": None, "code": None}})
        if isinstance(answer, dict):
            return self.reply(200, answer)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, data in answer:
            text = data if isinstance(data, str) else json.dumps(data)
            event = (f"event: {name}\n" if name else "") + f"data: {text}\n\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event.encode()), event.encode()))
        self.wfile.write(b"0\r\n\r\n")

    def reply(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def serve(port=0):
    return ThreadingHTTPServer(("127.0.0.1", port), StrictProvider)


if __name__ == "__main__":
    server = serve(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    Path(sys.argv[1]).write_text(str(server.server_address[1]))
    server.serve_forever()
