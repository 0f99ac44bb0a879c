//! What came of a test case.

use headgate_wasm::PluginReply;
use http::HeaderMap;
use std::fmt;

/// What came of a case.
#[derive(Default)]
pub struct CaseOutcome {
    /// The request, if it was passed on as a whole.
    pub request: Option<PluginOutputMessage>,
    /// The response, if it was passed on as a whole.
    pub response: Option<PluginOutputMessage>,
    pub reply: Option<PluginOutputMessage>,
    pub end: CaseRunEnd,
    pub calls: Vec<RecordedCall>,
    pub log: Vec<String>,
}

/// How a case ended; failures with their reasons.
#[derive(Default)]
pub enum CaseRunEnd {
    #[default]
    Completed,
    /// The plugin refused its configuration.
    Refused(String),
    Trap(String),
    Failure(String),
}

/// A message as it left the plugin.
pub struct PluginOutputMessage {
    pub pseudo: Vec<(&'static str, String)>,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// A call that the plugin made.
pub struct RecordedCall {
    pub channel: String,
    pub message: PluginOutputMessage,
}

impl PluginOutputMessage {
    /// The values of a header or a pseudo-header.
    pub fn values(&self, name: &str) -> Vec<String> {
        let pseudo = self.pseudo.iter().filter(|(pseudo, _)| *pseudo == name);
        let pseudo = pseudo.map(|(_, value)| value.clone());
        let plain = self.headers.get_all(name.to_ascii_lowercase()).into_iter();
        let plain = plain.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        pseudo.chain(plain).collect()
    }
}

impl From<PluginReply> for PluginOutputMessage {
    fn from(reply: PluginReply) -> Self {
        Self {
            pseudo: vec![(":status", reply.status.as_str().to_owned())],
            headers: reply.headers,
            body: reply.body.to_vec(),
        }
    }
}

impl fmt::Display for PluginOutputMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.pseudo {
            write!(f, "{name} {value} ")?;
        }
        write!(f, "{:?}", String::from_utf8_lossy(&self.body))
    }
}
