//! Tests of what the descriptors of all protocols have in common.

use super::{DuplicateRequestCost, Protocol, TaskApiFormat};

#[test]
fn a_protocol_has_one_word_in_configuration_and_logs() {
    let words = [
        "chat",
        "messages",
        "responses",
        "gemini",
        "converse",
        "realtime",
        "image_edit",
        "video",
        "videos",
        "family_a",
        "family_b",
    ];
    for word in words {
        assert_eq!(Protocol::built_in(word).map(Protocol::name), Some(word));
    }
    assert_eq!(Protocol::BUILT_IN.len(), words.len());
    assert_eq!(Protocol::built_in("family_c"), None);
}

#[test]
fn protocols_with_tasks_create_paid_work_and_have_no_streams() {
    for protocol in Protocol::BUILT_IN {
        let descriptor = protocol.descriptor();
        if descriptor.tasks.is_some() {
            assert_eq!(
                descriptor.cost,
                DuplicateRequestCost::PaidWork,
                "{protocol:?}"
            );
            assert!(!descriptor.has_streams(), "{protocol:?}");
        }
        let is_native = descriptor.tasks == Some(TaskApiFormat::Native);
        assert_eq!(is_native, descriptor.name.starts_with("family_"));
    }
}

#[test]
fn a_conversation_is_written_for_protocols_whose_requests_cost_tokens() {
    for protocol in Protocol::BUILT_IN {
        let descriptor = protocol.descriptor();
        let costs_tokens = matches!(descriptor.cost, DuplicateRequestCost::Tokens(_));
        assert_eq!(
            descriptor.conversation.is_some(),
            // The messages of a session are not read as one.
            costs_tokens && !protocol.has_sessions(),
            "{protocol:?}"
        );
    }
}
