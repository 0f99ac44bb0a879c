//! What a service sees of a response.

use super::service_payload::PlacedText;
use headgate_protocol::json::JsonDocument;
use http::StatusCode;

/// The texts of a response, or those of a window of a stream.
pub struct ResponseExcerpt<'a> {
    pub status: StatusCode,
    pub texts: Vec<PlacedText>,
    pub document: Option<&'a JsonDocument>,
    /// The number of the window, if the response is a stream.
    pub window: Option<u64>,
}
