//! Tests of items, audio and prompts of an account, and of fields that must be ids and are none.

use super::*;

#[test]
fn items_audio_and_prompts_of_the_account_are_referred_to() {
    for (body, found) in [
        (
            json!({"input": [{"type": "item_reference", "id": "i"}]}),
            &["input.0.id=i"][..],
        ),
        (
            json!({"input": [{"id": "i"}, {"id": "j", "type": null}]}),
            &["input.0.id=i", "input.1.id=j"],
        ),
        // History that the caller sends back.
        (
            json!({"input": [{"id": "m", "role": "user", "content": "x"}, {"id": "r", "type": "reasoning"}]}),
            &[],
        ),
        (
            json!({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "audio": {"id": "a"}}]}),
            &["messages.1.audio.id=a"],
        ),
        (json!({"audio": {"voice": "v"}, "messages": []}), &[]),
        (
            json!({"prompt": {"id": "p", "version": "2"}}),
            &["prompt.id=p"],
        ),
        (json!({"prompt": "an id"}), &[]),
        (
            json!({"vector_store_ids": ["v"]}),
            &["vector_store_ids.0=v"],
        ),
        (json!({"images": {"file_id": "f"}}), &["images.file_id=f"]),
    ] {
        assert_eq!(named(&body.to_string()), found, "{body}");
    }
    let escaped = r#"{"input":[{"\u0069d":"i"}]}"#;
    assert_eq!(named(escaped), ["input.0.id=i"]);
}

#[test]
fn a_field_that_is_no_id_is_named() {
    for (body, expected) in [
        (json!({"file_ids": "f"}), Some("file_ids")),
        (json!({"file_ids": {"0": "f"}}), Some("file_ids")),
        (json!({"file_ids": ["f", ["g"]]}), Some("file_ids.1")),
        (json!({"file_ids": null, "file_id": null}), None),
        (json!({"file_id": ["f"]}), Some("file_id")),
        (json!({"container": ["c"]}), Some("container")),
        (json!({"container": {"id": 7}}), Some("container.id")),
        (json!({"conversation": ["c"]}), Some("conversation")),
        (
            json!({"previous_response_id": {"id": "r"}}),
            Some("previous_response_id"),
        ),
        (json!({"vector_store_ids": "v"}), Some("vector_store_ids")),
        (json!({"prompt": {"id": ["p"]}}), Some("prompt.id")),
        (
            json!({"input": [{"type": "item_reference", "id": ["i"]}]}),
            Some("input.0.id"),
        ),
        (
            json!({"messages": [{"audio": {"id": {}}}]}),
            Some("messages.0.audio.id"),
        ),
        (
            json!({"input": [{"content": [{"type": "input_file", "file_id": ["f"]}]}]}),
            Some("input.0.content.0.file_id"),
        ),
        (
            json!({"tools": [{"vector_store_ids": "v"}]}),
            Some("tools.0.vector_store_ids"),
        ),
        (
            json!({"tools": [{"container": ["c"]}]}),
            Some("tools.0.container"),
        ),
        (
            json!({"tools": [{"container": {"type": "auto", "file_ids": "f"}}]}),
            Some("tools.0.container.file_ids"),
        ),
        (json!({"tools": [{"environment": "browser"}]}), None),
    ] {
        let document = JsonDocument::parse(body.to_string().into(), &JsonLimits::default());
        let found = references_in_body(&document.unwrap()).unreadable;
        assert_eq!(found.as_deref(), expected, "{body}");
    }
}

#[test]
fn items_and_audio_of_a_response_are_made_by_it() {
    let body = json!({"id": "r", "object": "response", "output": [
        {"id": "msg_1", "type": "message"}, {"id": "ci_1", "container_id": "c"}]});
    let made = made_in_body(body.to_string().as_bytes());
    assert_eq!(made.items, ["msg_1", "ci_1"]);
    assert_eq!(made.others, ["c"]);
    let body = json!({"id": "c", "object": "chat.completion", "choices": [
        {"message": {"content": null, "audio": {"id": "audio_1", "data": "x"}}}]});
    assert_eq!(
        made_in_body(body.to_string().as_bytes()).others,
        ["audio_1"]
    );
    let chunk = json!({"id": "c", "choices": [{"delta": {"audio": {"id": "audio_2"}}}]});
    assert_eq!(audio_in_chunk(chunk.to_string().as_bytes()), ["audio_2"]);
    assert!(audio_in_chunk(b"{}").is_empty());
}
