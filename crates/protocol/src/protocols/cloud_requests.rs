//! How clouds take the requests of a protocol: under a path with the model, with members for what is in headers elsewhere.

use crate::json::JsonDocument;
use crate::json::edit::JsonEdits;
use crate::stream::StreamFraming;
use http::{HeaderMap, HeaderName, HeaderValue};

/// The requests of a protocol as clouds take them.
#[derive(Debug)]
pub struct CloudRequestFormat {
    pub endpoints: &'static [CloudEndpoint],
    /// The member with the version of the cloud's format, which no other provider takes.
    pub version: &'static str,
    /// The member with a list of texts, and the header that has them elsewhere.
    pub list: (&'static str, HeaderName),
}

/// An endpoint of a cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloudEndpoint {
    /// What follows the model in the path.
    pub end: &'static str,
    /// Whether responses are streams; the body does not say it.
    pub is_stream: bool,
    /// What separates the events of these.
    pub framing: StreamFraming,
}

/// Longest list that becomes a header, in bytes.
const LIST_BYTES_MAX: usize = 4096;

impl CloudRequestFormat {
    /// The endpoint whose paths end like this; `None` if it is none of a cloud.
    pub fn endpoint(&self, path: &str) -> Option<CloudEndpoint> {
        let mut endpoints = self.endpoints.iter();
        endpoints.find(|known| path.ends_with(known.end)).copied()
    }

    /// Makes a request to `endpoint` one of the protocol itself: by edits of its body, and by the headers that it has there.
    /// The caller's own version of the protocol stays.
    pub fn convert(
        &self,
        endpoint: CloudEndpoint,
        version: Option<&(HeaderName, &'static str)>,
        body: &JsonDocument,
        edits: &mut JsonEdits,
        headers: &mut HeaderMap,
    ) {
        let root = body.root();
        if let Some(member) = root.get(self.version) {
            edits.remove_member(member);
        }
        if let Some((name, value)) = version.filter(|(name, _)| !headers.contains_key(name)) {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let (name, header) = &self.list;
        if let Some(list) = root.get(name) {
            let texts = list.elements().filter_map(|text| text.as_str());
            let texts = texts.collect::<Vec<_>>().join(",");
            let value = HeaderValue::try_from(texts).ok();
            // Clients write the list twice, or only here.
            if let Some(value) = value.filter(|it| (1..=LIST_BYTES_MAX).contains(&it.len())) {
                headers.insert(header, value);
            }
            edits.remove_member(list);
        }
        match (endpoint.is_stream, root.get("stream")) {
            (true, _) => edits.insert_member(root, "stream", "true"),
            (false, Some(stream)) => edits.remove_member(stream),
            (false, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;
    use crate::json::JsonLimits;
    use bytes::Bytes;

    #[test]
    fn a_request_to_a_cloud_becomes_one_of_the_protocol() {
        let descriptor = Protocol::Messages.descriptor();
        let clouds = descriptor.clouds.unwrap();
        for (path, body, expected, betas) in [
            (
                "/models/m:rawPredict",
                r#"{"anthropic_version":"vertex-2023-10-16","max_tokens":9}"#,
                r#"{"max_tokens":9}"#,
                "",
            ),
            (
                "/models/m:streamRawPredict",
                r#"{"stream":true,"anthropic_version":"vertex-2023-10-16"}"#,
                r#"{"stream":true}"#,
                "",
            ),
            (
                "/model/m/invoke",
                r#"{"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["a-1","b-2"],"stream":true,"max_tokens":9}"#,
                r#"{"max_tokens":9}"#,
                "a-1,b-2",
            ),
            (
                "/model/m/invoke-with-response-stream",
                r#"{"max_tokens":9}"#,
                r#"{"max_tokens":9,"stream":true}"#,
                "",
            ),
        ] {
            let endpoint = clouds.endpoint(path).unwrap();
            let document = JsonDocument::parse(Bytes::from(body), &JsonLimits::default()).unwrap();
            let (mut edits, mut headers) = (JsonEdits::default(), HeaderMap::new());
            let version = descriptor.headers.version.as_ref();
            clouds.convert(endpoint, version, &document, &mut edits, &mut headers);
            let edited = edits.apply(document.body()).to_bytes();
            assert_eq!(edited, expected.as_bytes(), "{path}");
            assert_eq!(headers["anthropic-version"], "2023-06-01");
            let sent = headers
                .get("anthropic-beta")
                .map_or(&b""[..], HeaderValue::as_bytes);
            assert_eq!(sent, betas.as_bytes(), "{path}");
        }
        assert_eq!(clouds.endpoint("/v1/messages"), None);
    }
}
