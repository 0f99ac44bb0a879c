//! Clouds that are providers of a protocol's models under paths of their own: the model moves from the body into the path.

use super::cloud_requests::CloudRequestFormat;
use crate::json::edit::{BodySegments, JsonEdits};
use crate::json::{JsonDocument, quoted};
use crate::percent_encoding::push_encoded;

/// The version of Vertex AI's format, as Google's guide to Claude on Vertex AI has it.
const VERTEX_AI_VERSION: &str = "vertex-2023-10-16";

/// A cloud that serves the models of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProviderCloud {
    /// Claude on Vertex AI, below `publishers/anthropic`.
    VertexAi,
}

/// A request as a cloud takes it.
#[derive(Debug)]
pub struct CloudProviderRequest {
    /// Below the base URL of the channel.
    pub path: String,
    pub body: BodySegments,
}

impl ProviderCloud {
    /// The request to `path` below the base URL, for the model with this name of the channel; `None` if the cloud has no such endpoint.
    /// The name must be one that may stand in a path.
    pub fn convert(
        self,
        format: &CloudRequestFormat,
        path: &str,
        body: &JsonDocument,
        model: &str,
    ) -> Option<CloudProviderRequest> {
        let Self::VertexAi = self;
        let root = body.root();
        let mut edits = JsonEdits::default();
        let mut target = String::from("/models/");
        match path.split('?').next()? {
            "/messages" => {
                push_encoded(&mut target, model);
                let is_stream = root.get("stream").and_then(|stream| stream.as_bool());
                target.push_str(match is_stream {
                    Some(true) => ":streamRawPredict",
                    Some(false) | None => ":rawPredict",
                });
                if let Some(model) = root.get("model") {
                    edits.remove_member(model);
                }
            }
            // It has the model in the body.
            "/messages/count_tokens" => target.push_str("count-tokens:rawPredict"),
            _ => return None,
        }
        if root.get(format.version).is_none() {
            edits.insert_member(root, format.version, quoted(VERTEX_AI_VERSION));
        }
        Some(CloudProviderRequest {
            path: target,
            body: edits.apply(body.body()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;
    use crate::json::JsonLimits;
    use bytes::Bytes;

    #[test]
    fn vertex_ai_has_the_model_in_the_path_and_a_version_in_the_body() {
        let clouds = Protocol::Messages.descriptor().clouds.unwrap();
        for (path, body, target, expected) in [
            (
                "/messages",
                r#"{"model":"m","max_tokens":9}"#,
                "/models/claude-sonnet-4-5@20250929:rawPredict",
                r#"{"max_tokens":9,"anthropic_version":"vertex-2023-10-16"}"#,
            ),
            (
                "/messages?beta=true",
                r#"{"max_tokens":9,"stream":true,"model":"m"}"#,
                "/models/claude-sonnet-4-5@20250929:streamRawPredict",
                r#"{"max_tokens":9,"stream":true,"anthropic_version":"vertex-2023-10-16"}"#,
            ),
            (
                "/messages",
                r#"{"stream":false,"anthropic_version":"vertex-2030-01-01"}"#,
                "/models/claude-sonnet-4-5@20250929:rawPredict",
                r#"{"stream":false,"anthropic_version":"vertex-2030-01-01"}"#,
            ),
            (
                "/messages/count_tokens",
                r#"{"model":"m"}"#,
                "/models/count-tokens:rawPredict",
                r#"{"model":"m","anthropic_version":"vertex-2023-10-16"}"#,
            ),
        ] {
            let document = JsonDocument::parse(Bytes::from(body), &JsonLimits::default()).unwrap();
            let name = "claude-sonnet-4-5@20250929";
            let made = ProviderCloud::VertexAi.convert(clouds, path, &document, name);
            let made = made.unwrap();
            assert_eq!(made.path, target);
            assert_eq!(made.body.to_bytes(), expected, "{path}");
        }
        let empty = JsonDocument::parse(Bytes::from("{}"), &JsonLimits::default()).unwrap();
        let batches = ProviderCloud::VertexAi.convert(clouds, "/messages/batches", &empty, "m");
        assert!(batches.is_none());
    }
}
