//! Requests of batches: the lines of the file of `POST /v1/batches`, and the list of `POST /v1/messages/batches`.
//!
//! Sources: the object "Request input" of OpenAI's API reference (`custom_id`, `method`, `url`, `body`) and
//! `types/batch.py` of its SDK; "Create a Message Batch" of Anthropic's API reference (`requests` with `custom_id` and
//! `params`).

mod error;
mod format;
mod lines;
mod object;
#[cfg(test)]
mod tests;

pub use error::InvalidBatchRequest;
pub use format::BatchFormat;
pub use lines::{FileLine, file_lines};
pub use object::{BatchObject, BatchResultsFile};

use super::json::{DocumentNode, JsonDocument, ValueKind};
use std::borrow::Cow;

/// The form field that says what a file is for, and its value for the file of a batch.
pub const PURPOSE: (&str, &str) = ("purpose", "batch");
/// The form field with the file.
pub const FILE: &str = "file";
/// The member of a batch that names its file.
pub const INPUT_FILE: &str = "input_file_id";
/// The member of a batch with the `url` of all its lines.
pub const ENDPOINT: &str = "endpoint";
/// The member of a message batch with its requests.
pub const REQUESTS: &str = "requests";
/// The member of a message batch with the URL of its results.
pub const RESULTS_URL: &str = "results_url";
/// The maximum length of a `custom_id`, in bytes. Anthropic allows 64, OpenAI names no limit.
const CUSTOM_ID_BYTES_MAX: usize = 512;

/// One request of a batch.
#[derive(Debug)]
pub struct BatchRequest<'d> {
    pub custom_id: Cow<'d, str>,
    /// The path of the endpoint in the provider's API; `None` where the batch has only one.
    pub url: Option<Cow<'d, str>>,
    /// The body of the request, an object.
    pub body: DocumentNode<'d>,
}

impl<'d> BatchRequest<'d> {
    /// The request of a line of a file.
    ///
    /// # Errors
    /// A member is missing, or has another type or value than it must have.
    pub fn from_line(line: &'d JsonDocument) -> Result<Self, InvalidBatchRequest> {
        let line = object(line.root(), "the line")?;
        let custom_id = custom_id(line)?;
        let method = text(line, "method")?;
        if method != "POST" {
            return Err(InvalidBatchRequest::OtherMethod);
        }
        Ok(Self {
            custom_id,
            url: Some(text(line, "url")?),
            body: body(line, "body")?,
        })
    }

    /// The request of an entry of the list `requests`.
    ///
    /// # Errors
    /// As [`Self::from_line`].
    pub fn from_entry(entry: &'d JsonDocument) -> Result<Self, InvalidBatchRequest> {
        let entry = object(entry.root(), "the entry")?;
        Ok(Self {
            custom_id: custom_id(entry)?,
            url: None,
            body: body(entry, "params")?,
        })
    }

    /// The name of the model, and the value that has it.
    ///
    /// # Errors
    /// The body has no model, or one that is no text.
    pub fn model(&self) -> Result<(Cow<'d, str>, DocumentNode<'d>), InvalidBatchRequest> {
        let name = text(self.body, "model")?;
        let value = self.body.get("model");
        Ok((name, value.expect("a text was read from the member")))
    }

    /// Whether the body asks for a stream, which a batch has no reader for.
    pub fn streams(&self) -> bool {
        let stream = self.body.get("stream");
        stream.is_some_and(|stream| !stream.is_null() && stream.as_bool() != Some(false))
    }
}

fn object<'d>(
    node: DocumentNode<'d>,
    what: &'static str,
) -> Result<DocumentNode<'d>, InvalidBatchRequest> {
    match node.kind() {
        ValueKind::Object => Ok(node),
        _ => Err(InvalidBatchRequest::OtherType {
            what,
            expected: "a JSON object",
            received: node.type_name(),
        }),
    }
}

/// A member, of which no other spelling occurs: some parsers ignore the case of names.
fn member<'d>(
    object: DocumentNode<'d>,
    name: &'static str,
) -> Result<DocumentNode<'d>, InvalidBatchRequest> {
    if let Some(other) = object.key_in_other_case(name) {
        let other = other.to_string();
        return Err(InvalidBatchRequest::OtherCase { name, other });
    }
    object.get(name).ok_or(InvalidBatchRequest::Missing(name))
}

fn text<'d>(
    object: DocumentNode<'d>,
    name: &'static str,
) -> Result<Cow<'d, str>, InvalidBatchRequest> {
    let value = member(object, name)?;
    match value.as_str() {
        Some(text) if text.is_empty() => Err(InvalidBatchRequest::Empty(name)),
        Some(text) => Ok(text),
        None => Err(InvalidBatchRequest::OtherType {
            what: name,
            expected: "a string",
            received: value.type_name(),
        }),
    }
}

fn body<'d>(
    object: DocumentNode<'d>,
    name: &'static str,
) -> Result<DocumentNode<'d>, InvalidBatchRequest> {
    let value = member(object, name)?;
    self::object(value, name)
}

fn custom_id(object: DocumentNode<'_>) -> Result<Cow<'_, str>, InvalidBatchRequest> {
    let id = text(object, "custom_id")?;
    match id.len() > CUSTOM_ID_BYTES_MAX {
        true => Err(InvalidBatchRequest::LongId(CUSTOM_ID_BYTES_MAX)),
        false => Ok(id),
    }
}
