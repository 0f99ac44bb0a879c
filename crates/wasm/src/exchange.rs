//! What a plugin sees and changes of one HTTP exchange.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};

/// The data of one exchange. It is lent to the plugin for each call: moved in, and out again when the call is over.
///
/// If the future of a call is dropped before it completes, the value that was lent is left empty.
#[derive(Default)]
pub struct LentExchange {
    pub request: PluginRequestHead,
    pub request_trailers: Option<Box<HeaderMap>>,
    /// `None` until there is a response.
    pub response: Option<PluginResponseHead>,
    /// How often plugins have changed the head of the response, for a program that must know whether they do so too late.
    pub response_head_edits: u32,
    pub response_trailers: Option<Box<HeaderMap>>,
    /// Properties beyond those that the host derives from the fields above; see [`PropertySource`].
    pub properties: Option<Arc<dyn PropertySource>>,
    /// Properties that plugins set, by their path with `.` between the segments. To let a later plugin of the same
    /// exchange see them, lend the same value to it.
    pub plugin_properties: BTreeMap<String, Bytes>,
}

/// The head of a request: the pseudo headers and the others.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PluginRequestHead {
    /// `:method`
    pub method: Method,
    /// `:scheme`
    pub scheme: String,
    /// `:authority`
    pub authority: String,
    /// `:path`, with the query.
    pub path: String,
    pub headers: HeaderMap,
}

/// The head of a response.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PluginResponseHead {
    /// `:status`
    pub status: StatusCode,
    pub headers: HeaderMap,
}

/// Properties that the program has of an exchange.
///
/// After [`crate::PluginSettings::properties`], a source is consulted. What it does not have comes from the exchange itself: `request.method`, `request.scheme`,
/// `request.host`, `request.path`, `request.url_path`, `request.query`, `request.headers[.<name>]`,
/// `request.referer`, `request.useragent`, `request.id`, `response.code`, `response.headers[.<name>]`, `plugin_name`,
/// `plugin_root_id`, `plugin_vm_id`; and then from what plugins set.
pub trait PropertySource: fmt::Debug + Send + Sync + 'static {
    /// The value at a path such as `["source", "address"]`.
    fn property(&self, path: &[&str]) -> Option<PropertyValue>;
}

/// The value of a property, in the types that plugins know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropertyValue {
    Text(String),
    Bytes(Bytes),
    Int(i64),
    Bool(bool),
    Time(SystemTime),
    /// Pairs, such as headers or metadata.
    Map(Vec<(String, String)>),
}

/// What the gateway does with the stream after a callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginStreamAction {
    /// Continues.
    Continue,
    /// The plugin waits for more of the body before it decides. Only when the stream has not ended; the head is not sent
    /// on.
    Hold,
    /// Ends the exchange with the plugin's reply. After the response has begun the program can only abort it.
    Reply(PluginReply),
    /// Ends the exchange without a response.
    Close,
}

/// What happens to a body after a callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginBodyAction {
    /// Passes these bytes on: what was held and what was given, as the plugin left it; perhaps none.
    Continue(Bytes),
    /// The bytes are held for the next callback.
    Hold,
    /// As [`PluginStreamAction::Reply`].
    Reply(PluginReply),
    /// As [`PluginStreamAction::Close`].
    Close,
}

/// A response that a plugin makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginReply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// For the log, not for the caller.
    pub details: String,
}

/// Without what may be a secret.
impl fmt::Debug for LentExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LentExchange")
            .field("request", &self.request)
            .field("response", &self.response)
            .finish_non_exhaustive()
    }
}

/// Without the values of headers and the query, which may be secrets.
impl fmt::Debug for PluginRequestHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.split('?').next().unwrap_or_default();
        f.debug_struct("PluginRequestHead")
            .field("method", &self.method)
            .field("authority", &self.authority)
            .field("path", &path)
            .field("headers", &HeaderNamesDebug(&self.headers))
            .finish_non_exhaustive()
    }
}

/// Without the values of headers, which may be secrets.
impl fmt::Debug for PluginResponseHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginResponseHead")
            .field("status", &self.status)
            .field("headers", &HeaderNamesDebug(&self.headers))
            .finish()
    }
}

/// Prints the names of a map.
pub(crate) struct HeaderNamesDebug<'a>(pub &'a HeaderMap);

impl fmt::Debug for HeaderNamesDebug<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}
