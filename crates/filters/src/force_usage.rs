//! `force_usage`: requests usage for chat streams, and removes the usage chunk for callers who did not ask for it.

use bytes::{BufMut, BytesMut};
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite, InvalidSettings,
};
use headgate_core::filter::response_inputs::ResponseVaryInputs;
use headgate_core::filter::view::{EventAction, EventView, RequestView};
use headgate_core::filter::{Filter, FilterDeclaration, HookResult, ResponseBodyAccess};
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{JsonDocument, ValueKind, skim};
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "force_usage",
    summary: "Requests usage for chat streams, and removes the usage chunk for callers who did not ask for it.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        needs: &[FilterPrerequisite::Body],
        ..FilterChainRules::ANYWHERE
    },
    settings: None,
    bare: true,
    build: |_, context| match context
        .protocol
        .map(|it| it.descriptor().has_optional_stream_usage())
    {
        Some(true) => Ok(Arc::new(ForceUsageFilter)),
        Some(false) | None => Err(InvalidSettings::new(
            "`force_usage` requires a route with `protocol: chat`; streams of other protocols always report usage",
        )),
    },
};

struct ForceUsageFilter;

/// Marks a request whose usage chunk was requested by the filter, not by the caller.
struct ForcedUsageMarker;

impl Filter for ForceUsageFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            events: ResponseBodyAccess::Replace,
            ..FilterDeclaration::default()
        }
    }

    fn add_response_inputs(&self, inputs: &mut ResponseVaryInputs) {
        inputs.add_marker(|request| request.state.get::<ForcedUsageMarker>().is_some());
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        let body = request.body.scanned();
        if request_usage(body, &mut request.edits) {
            request.state.set(ForcedUsageMarker);
        }
        HookResult::next()
    }

    fn on_event<'a>(&'a self, view: &'a mut EventView<'_>) -> HookResult<'a, ()> {
        if view.request.state.get::<ForcedUsageMarker>().is_some() {
            view.action = without_usage(view.event.data());
        }
        HookResult::done()
    }
}

/// Requests usage for a stream; `false` if the caller requested it already, or the response is not a stream.
fn request_usage(body: &JsonDocument, edits: &mut JsonEdits) -> bool {
    const ASKING: &[u8] = br#"{"include_usage":true}"#;
    let root = body.root();
    if root.get("stream").and_then(|stream| stream.as_bool()) != Some(true) {
        return false;
    }
    match root.get("stream_options") {
        None => edits.insert_member(root, "stream_options", ASKING),
        Some(options) if options.kind() != ValueKind::Object => {
            edits.replace(options.span(), ASKING)
        }
        Some(options) => match options.get("include_usage") {
            Some(requested) if requested.as_bool() == Some(true) => return false,
            Some(requested) => edits.replace(requested.span(), &b"true"[..]),
            None => edits.insert_member(options, "include_usage", &b"true"[..]),
        },
    }
    true
}

/// The usage chunk has no choices; every other chunk has `"usage":null`.
fn without_usage(data: &[u8]) -> EventAction {
    if memchr::memmem::find(data, b"\"usage\"").is_none() {
        return EventAction::Pass;
    }
    // Not parsed strictly: half a surrogate pair in the text of a chunk is no reason to show the member.
    let Some(usage) = skim::member_span(data, "usage") else {
        return EventAction::Pass;
    };
    let has_no_choices = skim::find(data, &["choices"])
        .is_some_and(|choices| skim::elements(data, choices).next().is_none());
    let is_reported = skim::find(data, &["usage"]).is_some_and(|value| data[value] != *b"null");
    if has_no_choices && is_reported {
        return EventAction::Drop;
    }
    let mut event = BytesMut::with_capacity(data.len() + 8);
    event.put_slice(b"data: ");
    event.put_slice(&data[..usage.start]);
    event.put_slice(&data[usage.end..]);
    event.put_slice(b"\n\n");
    EventAction::Replace(event.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use headgate_protocol::json::JsonLimits;

    fn requested(body: &'static str) -> Option<String> {
        let body = JsonDocument::parse(Bytes::from_static(body.as_bytes()), &JsonLimits::default())
            .unwrap();
        let mut edits = JsonEdits::default();
        request_usage(&body, &mut edits)
            .then(|| String::from_utf8(edits.apply(body.body()).to_bytes().to_vec()).unwrap())
    }

    #[test]
    fn only_streams_without_include_usage_are_changed() {
        for (body, expected) in [
            (r#"{"model":"m"}"#, None),
            (r#"{"stream":false}"#, None),
            (
                r#"{"stream":true,"stream_options":{"include_usage":true}}"#,
                None,
            ),
            (
                r#"{"stream":true}"#,
                Some(r#"{"stream":true,"stream_options":{"include_usage":true}}"#),
            ),
            (
                r#"{"stream":true,"stream_options":null}"#,
                Some(r#"{"stream":true,"stream_options":{"include_usage":true}}"#),
            ),
            (
                r#"{"stream":true,"stream_options":{}}"#,
                Some(r#"{"stream":true,"stream_options":{"include_usage":true}}"#),
            ),
            (
                r#"{"stream":true,"stream_options":{"include_usage":false}}"#,
                Some(r#"{"stream":true,"stream_options":{"include_usage":true}}"#),
            ),
        ] {
            assert_eq!(requested(body).as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn an_unrequested_usage_chunk_is_dropped() {
        let replaced =
            |text: &'static str| EventAction::Replace(Bytes::from_static(text.as_bytes()));
        for (data, expected) in [
            (r#"{"choices":[{"index":0}]}"#, EventAction::Pass),
            ("[DONE]", EventAction::Pass),
            (
                r#"{"choices":[],"usage":{"prompt_tokens":1}}"#,
                EventAction::Drop,
            ),
            (
                r#"{"choices":[{"index":0}],"usage":null}"#,
                replaced("data: {\"choices\":[{\"index\":0}]}\n\n"),
            ),
            (
                r#"{"usage" : null , "choices":[{"delta":{"content":"\ud83d"}}]}"#,
                replaced("data: {\"choices\":[{\"delta\":{\"content\":\"\\ud83d\"}}]}\n\n"),
            ),
            (
                r#"{"choices":[{"delta":{"content":"\ud83d \"usage\":1"}}]}"#,
                EventAction::Pass,
            ),
            (r#"{"usage":null}"#, replaced("data: {}\n\n")),
            (
                r#"{"choices":[],"usage":null,"x":1}"#,
                replaced("data: {\"choices\":[],\"x\":1}\n\n"),
            ),
        ] {
            assert_eq!(without_usage(data.as_bytes()), expected, "{data}");
        }
    }
}
