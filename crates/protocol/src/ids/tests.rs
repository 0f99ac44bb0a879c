//! Tests of ids: every field that can contain one, and fields that only look like it.

mod account_ids;

use super::*;
use crate::Protocol;
use crate::json::{JsonDocument, JsonLimits};
use serde_json::{Value, json};

fn made_in_event(protocol: Protocol, name: Option<&[u8]>, data: &[u8]) -> CreatedIds {
    super::made_in_event(protocol.descriptor().id_events, name, data)
}

fn named(body: &str) -> Vec<String> {
    let document = JsonDocument::parse(body.to_owned().into(), &JsonLimits::default()).unwrap();
    named_in_body(&document)
        .into_iter()
        .map(|ReferencedId { id, at, .. }| format!("{at}={id}"))
        .collect()
}

#[test]
fn ids_are_found_wherever_a_request_may_name_them() {
    let part = |part: Value| json!({"input": [{"role": "user", "content": [part]}]});
    let block = |block: Value| json!({"messages": [{"role": "user", "content": [block]}]});
    for (body, found) in [
        (
            json!({"previous_response_id": "r"}),
            "previous_response_id=r",
        ),
        (json!({"conversation": "c"}), "conversation=c"),
        (json!({"conversation": {"id": "c"}}), "conversation.id=c"),
        (json!({"container": "c"}), "container=c"),
        (
            json!({"container": {"id": "c", "skills": []}}),
            "container.id=c",
        ),
        (json!({"file_id": "f"}), "file_id=f"),
        (json!({"input_file_id": "f"}), "input_file_id=f"),
        (
            json!({"images": [{"image_url": "u"}, {"file_id": "f"}]}),
            "images.1.file_id=f",
        ),
        (json!({"mask": {"file_id": "f"}}), "mask.file_id=f"),
        (json!({"name": "n", "file_ids": ["f"]}), "file_ids.0=f"),
        (
            json!({"tools": [{"type": "code_interpreter", "container": "c"}]}),
            "tools.0.container=c",
        ),
        (
            json!({"tools": [{"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["f"]}}]}),
            "tools.0.container.file_ids.0=f",
        ),
        (
            json!({"tools": [{"type": "shell", "environment": {"type": "container_reference", "container_id": "c"}}]}),
            "tools.0.environment.container_id=c",
        ),
        (
            json!({"tools": [{"type": "shell", "environment": {"type": "container_auto", "file_ids": ["f"]}}]}),
            "tools.0.environment.file_ids.0=f",
        ),
        (
            json!({"tools": [{"type": "file_search", "vector_store_ids": ["v"]}]}),
            "tools.0.vector_store_ids.0=v",
        ),
        (
            json!({"files": [{"file_id": "f", "attributes": {"a": 1}}]}),
            "files.0.file_id=f",
        ),
        (
            json!({"tools": [{"type": "image_generation", "input_image_mask": {"file_id": "f"}}]}),
            "tools.0.input_image_mask.file_id=f",
        ),
        (
            part(json!({"type": "input_file", "file_id": "f"})),
            "input.0.content.0.file_id=f",
        ),
        (
            part(json!({"type": "input_image", "file_id": "f"})),
            "input.0.content.0.file_id=f",
        ),
        (
            json!({"input": [{"type": "computer_call_output", "output": {"type": "computer_screenshot", "file_id": "f"}}]}),
            "input.0.output.file_id=f",
        ),
        (
            json!({"items": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]}),
            "items.0.content.0.file_id=f",
        ),
        (
            json!({"prompt": {"variables": {"v": {"type": "input_file", "file_id": "f"}}}}),
            "prompt.variables.v.file_id=f",
        ),
        (
            block(json!({"type": "file", "file": {"file_id": "f"}})),
            "messages.0.content.0.file.file_id=f",
        ),
        (
            block(json!({"type": "document", "source": {"type": "file", "file_id": "f"}})),
            "messages.0.content.0.source.file_id=f",
        ),
        (
            block(
                json!({"type": "tool_result", "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}}]}),
            ),
            "messages.0.content.0.content.0.source.file_id=f",
        ),
        (
            block(json!({"type": "container_upload", "file_id": "f"})),
            "messages.0.content.0.file_id=f",
        ),
    ] {
        assert_eq!(named(&body.to_string()), [found], "{body}");
    }
}

#[test]
fn the_field_decides_which_resource_an_id_names() {
    let body =
        br#"{"previous_response_id":"r","conversation":{"id":"v"},"container":"c","file_ids":["f"],
        "tools":[{"container":"c"},{"container":{"file_ids":["f"]}},{"vector_store_ids":["s"]}],
        "input":[{"content":[{"type":"input_file","file_id":"f"}]}]}"#;
    let document = JsonDocument::parse(body.to_vec().into(), &JsonLimits::default()).unwrap();
    for ReferencedId { id, kind, at } in named_in_body(&document) {
        let wanted = match &*id {
            "r" => ResourceIdKind::Response,
            "v" => ResourceIdKind::Conversation,
            "c" => ResourceIdKind::Container,
            "s" => ResourceIdKind::VectorStore,
            _ => ResourceIdKind::File,
        };
        assert_eq!(kind, wanted, "{at}");
    }
    for (path, kind) in [
        ("/v1/responses/x/cancel", ResourceIdKind::Response),
        ("/v1/containers/x/files", ResourceIdKind::Container),
        ("/v1/messages/batches/x", ResourceIdKind::Batch),
        ("/v1/files", ResourceIdKind::File),
        ("/v1/conversations/x", ResourceIdKind::Conversation),
        ("/v1/uploads/x/complete", ResourceIdKind::Upload),
        ("/v1/vector_stores/x/files/y", ResourceIdKind::VectorStore),
        ("/v1/chat/completions/x", ResourceIdKind::ChatCompletion),
        ("/elsewhere/x", ResourceIdKind::Other),
    ] {
        assert_eq!(ResourceIdKind::from_path(path), kind, "{path}");
    }
}

#[test]
fn referenced_ids_are_bounded() {
    let many = json!({"file_ids": vec!["f"; 3 * NAMED_MAX]});
    assert_eq!(named(&many.to_string()).len(), NAMED_MAX + 1);
}

#[test]
fn an_escape_hides_no_id() {
    let body = r#"{"previous\u005fresponse_id":"r\u0031","input":[{"content":[{"type":"input_\u0066ile","file\u005fid":"f"}]}]}"#;
    assert_eq!(
        named(body),
        ["previous_response_id=r1", "input.0.content.0.file_id=f"]
    );
}

#[test]
fn history_and_free_form_values_name_nothing() {
    for body in [
        json!({"previous_response_id": null, "conversation": null, "container": null, "tools": null}),
        json!({"input": "the file_id is f"}),
        json!({"metadata": {"file_id": "f"}}),
        json!({"input": [{"content": [{"type": "output_text", "annotations": [
            {"type": "file_citation", "file_id": "f"},
            {"type": "container_file_citation", "container_id": "c", "file_id": "f"}]}]}]}),
        json!({"input": [{"type": "file_search_call", "results": [{"file_id": "f"}]}]}),
        json!({"input": [{"type": "code_interpreter_call", "container_id": "c"}]}),
        json!({"messages": [{"content": [{"type": "tool_use", "input": {"type": "file", "file_id": "f"}}]}]}),
        json!({"messages": [{"content": [{"type": "code_execution_tool_result", "content":
            {"content": [{"type": "code_execution_output", "file_id": "f"}]}}]}]}),
        json!({"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]}),
        json!({"tools": [
            {"type": "computer_use_preview", "environment": "browser", "display_width": 1, "display_height": 1},
            {"type": "computer", "environment": "ubuntu"},
            {"type": "shell", "environment": {"type": "local"}},
            {"type": "shell", "environment": {"type": "container_auto", "network_policy": {"type": "disabled"}}}]}),
    ] {
        assert_eq!(named(&body.to_string()), [""; 0], "{body}");
    }
}

fn made(own: Option<&str>, others: &[&str]) -> CreatedIds {
    CreatedIds {
        own: own.map(str::to_owned),
        others: others.iter().map(|id| (*id).to_owned()).collect(),
        ..CreatedIds::default()
    }
}

fn made_chat_completion(id: &str) -> CreatedIds {
    CreatedIds {
        chat_completion: Some(id.to_owned()),
        ..CreatedIds::default()
    }
}

#[test]
fn answers_give_their_own_id_and_those_of_what_came_with_them() {
    for (body, expected) in [
        (
            json!({"id": "r", "object": "response", "output": []}),
            made(Some("r"), &[]),
        ),
        (json!({"id": "r"}), made(Some("r"), &[])),
        (json!({"id": 7}), made(None, &[])),
        (json!({"id": "f", "object": "file"}), made(Some("f"), &[])),
        (json!({"id": "f", "type": "file"}), made(Some("f"), &[])),
        (
            json!({"id": "b", "object": "batch", "output_file_id": "f", "error_file_id": null}),
            made(Some("b"), &["f"]),
        ),
        (
            json!({"id": "b", "object": "batch", "output_file_id": "f", "error_file_id": "e"}),
            made(Some("b"), &["e", "f"]),
        ),
        (
            json!({"id": "b", "type": "message_batch"}),
            made(Some("b"), &[]),
        ),
        (
            json!({"id": "m", "type": "message", "container": {"id": "c"}}),
            made(None, &["c"]),
        ),
        (
            json!({"id": "m", "type": "message", "container": null}),
            made(None, &[]),
        ),
        (
            json!({"id": "x", "object": "chat.completion"}),
            made_chat_completion("x"),
        ),
        (
            json!({"id": "u", "object": "upload", "status": "completed", "file": {"id": "f", "object": "file"}}),
            made(Some("u"), &["f"]),
        ),
        (
            json!({"id": "u", "object": "upload", "status": "pending", "file": null}),
            made(Some("u"), &[]),
        ),
        // Members that a provider may echo.
        (
            json!({"id": "r", "object": "response", "file": {"id": "f"}, "output_file_id": "g", "error_file_id": "h"}),
            made(Some("r"), &[]),
        ),
        (
            json!({"id": "x", "object": "chat.completion", "file": "f"}),
            made_chat_completion("x"),
        ),
        (
            json!({"object": "list", "data": [{"id": "f"}]}),
            made(None, &[]),
        ),
        (
            json!({"id": "r", "conversation": {"id": "v"}, "output": [
                {"type": "code_interpreter_call", "id": "ci", "container_id": "c"},
                {"type": "shell_call", "environment": {"container_id": "d"}}]}),
            CreatedIds {
                items: vec!["ci".into()],
                ..made(Some("r"), &["v", "c", "d"])
            },
        ),
        (
            json!({"id": "m", "type": "message", "content": [{"type": "code_execution_tool_result",
                "content": {"content": [{"type": "code_execution_output", "file_id": "f"}]}}]}),
            made(None, &["f"]),
        ),
    ] {
        // A `Value` sorts its members, so that `type` follows `id` here.
        let mut found = made_in_body(body.to_string().as_bytes());
        found.others.sort();
        let mut expected = expected;
        expected.others.sort();
        assert_eq!(found, expected, "{body}");
    }
    assert_eq!(made_in_body(b"no json"), CreatedIds::default());
}

#[test]
fn answers_give_what_was_sealed_for_the_caller() {
    let sealed = |data: &str, made: CreatedIds| -> Vec<String> {
        let texts = made.sealed.into_iter();
        texts.map(|range| data[range].to_owned()).collect()
    };
    let reasoning =
        json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gAAA"});
    let thinking = json!({"type": "thinking", "thinking": "t", "signature": "Eq"});
    let redacted = json!({"type": "redacted_thinking", "data": "Em"});
    for (body, expected) in [
        (
            json!({"output": [reasoning, {"type": "message", "content": []}]}),
            &["\"gAAA\""][..],
        ),
        (
            json!({"type": "message", "content": [thinking, redacted]}),
            &["\"Eq\"", "\"Em\""],
        ),
        (json!({"encrypted_content": "outside"}), &[]),
    ] {
        let data = body.to_string();
        assert_eq!(
            sealed(&data, made_in_body(data.as_bytes())),
            expected,
            "{body}"
        );
    }
    let data = json!({"item": reasoning}).to_string();
    let event = b"response.output_item.done";
    let made = made_in_event(Protocol::Responses, Some(event), data.as_bytes());
    assert_eq!(sealed(&data, made), ["\"gAAA\""]);
    let data = json!({"content_block": redacted}).to_string();
    let made = made_in_event(
        Protocol::Messages,
        Some(b"content_block_start"),
        data.as_bytes(),
    );
    assert_eq!(sealed(&data, made), ["\"Em\""]);
}

#[test]
fn events_give_ids_by_what_they_are() {
    let (responses, messages) = (Protocol::Responses, Protocol::Messages);
    for (protocol, name, data, expected) in [
        (
            responses,
            "response.created",
            json!({"response": {"id": "r", "conversation": {"id": "v"}}}),
            made(Some("r"), &["v"]),
        ),
        (
            responses,
            "response.output_item.added",
            json!({"item": {"id": "i", "container_id": "c"}}),
            CreatedIds {
                items: vec!["i".into()],
                ..made(None, &["c"])
            },
        ),
        (
            responses,
            "response.output_text.delta",
            json!({"response": {"id": "r"}, "delta": "x"}),
            made(None, &[]),
        ),
        (
            messages,
            "message_start",
            json!({"message": {"id": "m", "type": "message", "container": {"id": "c"}}}),
            made(None, &["c"]),
        ),
        (
            messages,
            "message_delta",
            json!({"delta": {"container": {"id": "c"}, "stop_reason": "end_turn"}}),
            made(None, &["c"]),
        ),
        (
            messages,
            "content_block_start",
            json!({"content_block": {"type": "code_execution_tool_result",
                "content": {"content": [{"file_id": "f"}]}}}),
            made(None, &["f"]),
        ),
        (
            Protocol::Chat,
            "",
            json!({"id": "x", "object": "chat.completion.chunk", "choices": []}),
            made_chat_completion("x"),
        ),
        (
            Protocol::Chat,
            "response.created",
            json!({"response": {"id": "r"}}),
            made(None, &[]),
        ),
    ] {
        let found = made_in_event(protocol, Some(name.as_bytes()), data.to_string().as_bytes());
        assert_eq!(found, expected, "{name} {data}");
    }
    let nameless = br#"{"type":"response.created","response":{"id":"r"}}"#;
    assert_eq!(
        made_in_event(responses, None, nameless),
        made(Some("r"), &[])
    );
}
