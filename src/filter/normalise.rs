//! `normalise`: rewrites outdated spellings to the ones that all providers accept.

use super::descriptor::{ChainSide, FilterDescriptor, FilterPlacement, FilterPrerequisite};
use super::view::RequestView;
use super::{Filter, HookResult};
use crate::protocol::Protocol;
use crate::protocol::json::JsonDocument;
use crate::protocol::json::edit::JsonEdits;
use bytes::Bytes;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "normalise",
    summary: "Rewrites a string `tool_choice` of messages to an object, and cache retention `in-memory` to `in_memory`.",
    side: ChainSide::Request,
    placement: FilterPlacement {
        needs: &[FilterPrerequisite::Body],
        ..FilterPlacement::ANYWHERE
    },
    settings: None,
    bare: true,
    build: |_, context| {
        Ok(Arc::new(NormaliseSpellingFilter {
            protocol: context.protocol,
        }))
    },
};

struct NormaliseSpellingFilter {
    protocol: Option<Protocol>,
}

impl Filter for NormaliseSpellingFilter {
    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        let body = request.body.scanned();
        normalise(self.protocol, body, &mut request.edits);
        HookResult::next()
    }
}

fn normalise(protocol: Option<Protocol>, body: &JsonDocument, edits: &mut JsonEdits) {
    let root = body.root();
    match protocol {
        Some(Protocol::Messages) => {
            if let Some(choice) = root.get("tool_choice")
                && let Some(word @ ("auto" | "any" | "none")) = choice.as_str().as_deref()
            {
                edits.replace(
                    choice.span(),
                    Bytes::from(format!(r#"{{"type":"{word}"}}"#)),
                );
            }
        }
        Some(Protocol::Chat | Protocol::Responses) => {
            if let Some(retention) = root.get("prompt_cache_retention")
                && retention.as_str().as_deref() == Some("in-memory")
            {
                edits.replace(retention.span(), Bytes::from_static(br#""in_memory""#));
            }
        }
        Some(Protocol::ImageEdit | Protocol::Video | Protocol::FamilyA | Protocol::FamilyB)
        | None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::json::JsonLimits;

    #[test]
    fn only_the_older_spellings_change() {
        use Protocol::{Chat, Messages, Responses};
        for (protocol, body, expected) in [
            (
                Messages,
                r#"{"tool_choice": "any"}"#,
                r#"{"tool_choice": {"type":"any"}}"#,
            ),
            (
                Messages,
                r#"{"tool_choice":{"type":"any"}}"#,
                r#"{"tool_choice":{"type":"any"}}"#,
            ),
            (
                Messages,
                r#"{"tool_choice":"other"}"#,
                r#"{"tool_choice":"other"}"#,
            ),
            (
                Chat,
                r#"{"tool_choice":"auto"}"#,
                r#"{"tool_choice":"auto"}"#,
            ),
            (
                Chat,
                r#"{"prompt_cache_retention":"in-memory"}"#,
                r#"{"prompt_cache_retention":"in_memory"}"#,
            ),
            (
                Responses,
                r#"{"prompt_cache_retention":"24h"}"#,
                r#"{"prompt_cache_retention":"24h"}"#,
            ),
        ] {
            let body =
                JsonDocument::parse(Bytes::from_static(body.as_bytes()), &JsonLimits::default())
                    .unwrap();
            let mut edits = JsonEdits::default();
            normalise(Some(protocol), &body, &mut edits);
            assert_eq!(edits.apply(body.body()).to_bytes(), expected);
        }
    }
}
