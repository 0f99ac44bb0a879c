//! `normalise`: rewrites outdated spellings to the ones that all providers accept.

use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterPrerequisite,
};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, HookResult};
use headgate_protocol::Protocol;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "normalise",
    summary: "Rewrites a string `tool_choice` of messages to an object, and cache retention `in-memory` to `in_memory`.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        needs: &[FilterPrerequisite::Body],
        ..FilterChainRules::ANYWHERE
    },
    settings: None,
    bare: true,
    build: |_, context| {
        Ok(Arc::new(RewriteOutdatedValuesFilter {
            protocol: context.protocol,
        }))
    },
};

struct RewriteOutdatedValuesFilter {
    protocol: Option<Protocol>,
}

impl Filter for RewriteOutdatedValuesFilter {
    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        if let Some(protocol) = self.protocol {
            let body = request.body.scanned();
            (protocol.descriptor().normalise)(body, &mut request.edits);
        }
        HookResult::next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use headgate_protocol::json::edit::JsonEdits;
    use headgate_protocol::json::{JsonDocument, JsonLimits};

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
            (protocol.descriptor().normalise)(&body, &mut edits);
            assert_eq!(edits.apply(body.body()).to_bytes(), expected);
        }
    }
}
