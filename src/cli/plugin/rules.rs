//! The rules of a route as test cases apply them: what of a message the plugin sees, and which of its changes are kept.

use super::case_message::{CaseBodyDelivery, CaseInputMessage};
use bytes::Bytes;
use headgate_core::filter::view::ResponseBodyKind;
use headgate_gateway::preview::response_body_kind;
use headgate_plugins::WithheldPartGrants;
use headgate_protocol::header_policy::{
    granted_response_headers, request_headers_for_provider, response_headers_for_caller,
};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_protocol::mask::ChannelSecrets;
use headgate_wasm::{PluginRequestHead, PluginResponseHead};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::Deserialize;

/// Which rules apply to the messages of a case.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum CaseRulesChoice {
    /// Those of a route of the gateway.
    #[default]
    Gateway,
    /// None, as in a proxy that passes everything on, and bodies in their pieces.
    None,
}

/// Grants of the plugin in test cases, as in `plugins.*.grants`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CaseGrants {
    request_headers: Vec<String>,
    query: Vec<String>,
    response_headers: Vec<String>,
}

/// The rules for one case.
pub struct CaseMessageRules(Option<WithheldPartGrants>);

impl CaseGrants {
    fn build(&self) -> Result<WithheldPartGrants, String> {
        let names = |names: &[String]| {
            let header = |name: &String| name.parse().ok().filter(WithheldPartGrants::may_grant);
            let parsed = names.iter().map(|name| {
                header(name).ok_or_else(|| format!("`{name}` is not a header that can be granted"))
            });
            parsed.collect::<Result<Vec<HeaderName>, String>>()
        };
        Ok(WithheldPartGrants {
            request_headers: names(&self.request_headers)?,
            query: self.query.clone(),
            response_headers: names(&self.response_headers)?,
        })
    }
}

impl CaseMessageRules {
    /// # Errors
    /// A grant that there is not.
    pub fn new(rules: CaseRulesChoice, grants: &CaseGrants) -> Result<Self, String> {
        let grants = grants.build()?;
        Ok(Self((rules == CaseRulesChoice::Gateway).then_some(grants)))
    }

    /// The request as the plugin sees it.
    pub fn visible_request(&self, given: &PluginRequestHead) -> PluginRequestHead {
        let Some(grants) = &self.0 else {
            return given.clone();
        };
        let (path, query) = match given.path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (given.path.as_str(), None),
        };
        let visible = given.headers.iter().filter(|(name, _)| !grants.hides(name));
        PluginRequestHead {
            path: grants.visible_path(path, query, &given.headers),
            headers: visible
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            ..given.clone()
        }
    }

    /// The request as the provider receives it. `given` is the caller's, `left` what the plugin left.
    ///
    /// # Errors
    /// The plugin changed a body that is not JSON, or into one.
    pub fn sent_request(
        &self,
        given: &PluginRequestHead,
        left: &PluginRequestHead,
        body: (&Bytes, &Bytes),
    ) -> Result<PluginRequestHead, String> {
        let Some(grants) = &self.0 else {
            return Ok(left.clone());
        };
        let (given_body, left_body) = body;
        let is_json = |body: &Bytes| JsonDocument::parse(body.clone(), &JsonLimits::default());
        if given_body != left_body {
            if is_json(given_body).is_err() {
                let reason = "the plugin changed a body that is not JSON, which is not possible";
                return Err(reason.to_owned());
            }
            is_json(left_body)
                .map_err(|error| format!("its body for the provider is no JSON: {error}"))?;
        }
        let mut headers = left.headers.clone();
        let hidden: Vec<_> = headers
            .keys()
            .filter(|name| grants.hides(name))
            .cloned()
            .collect();
        for name in hidden {
            headers.remove(name);
        }
        let mut headers = request_headers_for_provider(&headers);
        set_length(&mut headers, left_body);
        Ok(PluginRequestHead {
            path: left.path.clone(),
            headers,
            ..given.clone()
        })
    }

    /// The head of the response as the plugin sees it.
    pub fn visible_response(&self, given: &CaseInputMessage) -> PluginResponseHead {
        let from_provider = &given.headers.plain;
        let headers = match &self.0 {
            None => from_provider.clone(),
            Some(grants) => {
                let secrets = ChannelSecrets::new([]);
                let mut headers = response_headers_for_caller(from_provider, &secrets);
                let names = &grants.response_headers;
                headers.extend(granted_response_headers(from_provider, names, &secrets));
                headers
            }
        };
        PluginResponseHead {
            status: given.status(),
            headers,
        }
    }

    /// The head of the response as the caller receives it. `given` is what the plugin got.
    pub fn sent_response(
        &self,
        given: &PluginResponseHead,
        left: &PluginResponseHead,
        body: Option<&Bytes>,
    ) -> PluginResponseHead {
        if self.0.is_none() {
            return left.clone();
        }
        let mut sent = left.clone();
        let is_bodiless = |status: StatusCode| matches!(status.as_u16(), 204 | 205 | 304);
        if is_bodiless(left.status) {
            sent.status = given.status;
        }
        sent.headers.remove(header::CONNECTION);
        sent.headers.remove(header::TRANSFER_ENCODING);
        sent.headers.remove(header::CONTENT_LENGTH);
        if let Some(body) = body {
            set_length(&mut sent.headers, body);
        }
        sent
    }

    /// A body as it arrives at the plugin.
    pub fn visible_body(&self, given: &CaseInputMessage, is_response: bool) -> CaseBodyDelivery {
        match (&self.0, &given.body) {
            (None, body) => body.clone(),
            (Some(_), CaseBodyDelivery::Pieces(_)) => {
                CaseBodyDelivery::Pieces(vec![given.whole_body()])
            }
            // A response always has a body here, perhaps an empty one.
            (Some(_), CaseBodyDelivery::None) if is_response => {
                CaseBodyDelivery::Pieces(vec![Bytes::new()])
            }
            (Some(_), body) => body.clone(),
        }
    }

    /// Whether the plugin sees the body of a response: pages and encoded bodies pass unread.
    pub fn shows_body(&self, headers: &HeaderMap) -> bool {
        self.0.is_none() || response_body_kind(headers, false) != ResponseBodyKind::Foreign
    }
}

/// The gateway sets the length of the body that it sends.
fn set_length(headers: &mut HeaderMap, body: &Bytes) {
    if !body.is_empty() {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    }
}
