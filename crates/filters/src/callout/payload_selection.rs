//! What is sent to a service, and in which format.

use bytes::Bytes;
use headgate_protocol::json::JsonDocument;
use http::HeaderName;

/// What is sent to a service.
#[derive(Default)]
pub struct PayloadSelection {
    pub format: PayloadFormat,
    pub fields: Vec<String>,
    /// Whether `fields` are those of any request, with which its tools and images are sent, too.
    pub is_whole_request: bool,
    pub headers: Vec<HeaderName>,
    pub bytes_max: usize,
    /// Values of the operator's own, as a JSON object.
    pub parameters: Bytes,
}

/// The format of payloads and responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PayloadFormat {
    #[default]
    Headgate,
    Litellm,
}

impl PayloadSelection {
    /// # Errors
    /// The fields are larger than what may be sent.
    pub fn check_size(&self, document: &JsonDocument) -> Result<(), String> {
        let tools = self.is_whole_request.then_some("/tools");
        let pointers = self.fields.iter().map(String::as_str).chain(tools);
        let values = pointers.filter_map(|pointer| document.root().pointer(pointer));
        match values.map(|value| value.raw().len()).sum::<usize>() > self.bytes_max {
            true => Err(self.too_large()),
            false => Ok(()),
        }
    }

    /// The error for what is larger.
    pub fn too_large(&self) -> String {
        format!("the payload has more than {} bytes", self.bytes_max)
    }
}
