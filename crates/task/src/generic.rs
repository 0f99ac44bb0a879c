//! Parses a create request of the generic protocol: its fields and media.

mod document;
mod media;
#[cfg(test)]
mod tests;
mod unknown;

use super::family::json_fragment::JsonFragment;
use headgate_protocol::json::{DocumentNode, JsonDocument, ValueKind};
pub use media::{InputMedia, MediaRole};
use std::borrow::Cow;
pub use unknown::UnknownField;

/// What is read of a field that has a few known words: more than any of them has.
const WORD_BYTES_MAX: usize = 1 << 10;

/// A create request of the generic protocol, read in place.
#[derive(Debug)]
pub struct GenericVideoRequest<'a> {
    /// The platform model.
    pub model: Cow<'a, str>,
    /// The scalar fields that are present and neither null nor empty, in the order of [`GenericField::ALL`].
    pub(super) fields: Vec<(GenericField, JsonFragment<'a>)>,
    pub(super) medias: Vec<InputMedia<'a>>,
    /// Members that the generic protocol does not have, in the order of the request.
    pub(super) unknown: Vec<UnknownField<'a>>,
}

/// A scalar field of the generic protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenericField {
    Prompt,
    NegativePrompt,
    Duration,
    Resolution,
    Ratio,
    GenerateAudio,
    Watermark,
    Seed,
    CallbackUrl,
}

/// An error in a create request, which the caller can correct.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FieldError {
    /// The field at fault, such as `medias[2].role`.
    pub param: String,
    /// One sentence: what is wrong and what to do. Lower case, without a full stop.
    pub message: String,
}

impl<'a> GenericVideoRequest<'a> {
    /// Parses a create request. A request that its schema accepts causes no error here.
    ///
    /// # Errors
    /// The first field with a wrong type, or a medium of an unknown kind.
    pub fn read(document: &'a JsonDocument) -> Result<Self, FieldError> {
        let root = document.root();
        if root.kind() != ValueKind::Object {
            return Err(FieldError::new("", "the body must be a JSON object"));
        }
        let model = root.get("model").and_then(DocumentNode::as_str);
        let model = model.filter(|model| !model.is_empty());
        let mut fields = Vec::new();
        for field in GenericField::ALL {
            if let Some(node) = root.get(field.name()).filter(is_given) {
                fields.push((field, field.read(node)?));
            }
        }
        let medias = root.get("medias").filter(is_given);
        Ok(Self {
            model: model.ok_or_else(|| {
                FieldError::new(
                    "model",
                    "`model` must be the name of a model, as a non-empty string",
                )
            })?,
            fields,
            medias: media::read(medias)?,
            unknown: UnknownField::all(root, medias),
        })
    }

    /// The requested ratio, for the task's id; `None` for values such as `adaptive`.
    pub fn ratio(&self) -> Option<String> {
        self.text(GenericField::Ratio)
            .filter(|ratio| is_ratio(ratio))
    }

    /// The requested resolution, in lower case.
    pub fn resolution(&self) -> Option<String> {
        self.text(GenericField::Resolution)
    }

    /// Replaces the requested resolution.
    pub fn set_resolution(&mut self, name: &str) {
        for (field, fragment) in &mut self.fields {
            if *field == GenericField::Resolution {
                *fragment = JsonFragment::text(name);
            }
        }
    }

    fn text(&self, wanted: GenericField) -> Option<String> {
        let mut fields = self.fields.iter();
        let (_, fragment) = fields.find(|(field, _)| *field == wanted)?;
        Some(fragment.text_value().into_owned())
    }
}

impl GenericField {
    /// In the order in which they are set in a provider's request.
    pub const ALL: [Self; 9] = [
        Self::Prompt,
        Self::NegativePrompt,
        Self::Duration,
        Self::Resolution,
        Self::Ratio,
        Self::GenerateAudio,
        Self::Watermark,
        Self::Seed,
        Self::CallbackUrl,
    ];

    /// The member's name in the generic protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::NegativePrompt => "negative_prompt",
            Self::Duration => "duration",
            Self::Resolution => "resolution",
            Self::Ratio => "ratio",
            Self::GenerateAudio => "generate_audio",
            Self::Watermark => "watermark",
            Self::Seed => "seed",
            Self::CallbackUrl => "callback_url",
        }
    }

    /// Whether the field is a prompt; prompts are set before media.
    pub(super) fn is_prompt(self) -> bool {
        matches!(self, Self::Prompt | Self::NegativePrompt)
    }

    fn read(self, node: DocumentNode<'_>) -> Result<JsonFragment<'_>, FieldError> {
        let (fragment, wanted) = match self {
            Self::Resolution => (node.text_start(WORD_BYTES_MAX).map(lower_case), "a string"),
            Self::Duration => {
                let seconds = whole_number(node).filter(|_| node.as_f64() != Some(0.0));
                (seconds, "an integer number of seconds, at least 1, or -1")
            }
            Self::Seed => (whole_number(node), "an integer"),
            Self::GenerateAudio | Self::Watermark => (
                node.as_bool().map(|_| JsonFragment::from_node(node)),
                "a boolean",
            ),
            Self::Prompt | Self::NegativePrompt | Self::Ratio | Self::CallbackUrl => {
                let is_string = node.kind() == ValueKind::String;
                (is_string.then(|| JsonFragment::from_node(node)), "a string")
            }
        };
        let name = self.name();
        fragment.ok_or_else(|| FieldError::new(name, format!("`{name}` must be {wanted}")))
    }
}

impl FieldError {
    pub fn new(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            param: param.into(),
            message: message.into(),
        }
    }
}

/// Whether a value is neither null nor empty: clients also send their defaults.
fn is_given(node: &DocumentNode<'_>) -> bool {
    !node.is_null() && node.str_len() != Some(0)
}

fn lower_case(tier: Cow<'_, str>) -> JsonFragment<'_> {
    JsonFragment::text(&tier.to_ascii_lowercase())
}

/// The number as written; `5.0` is an integer in JSON Schema, and is written as 5 for the provider.
fn whole_number(node: DocumentNode<'_>) -> Option<JsonFragment<'_>> {
    if node.as_i64().is_some() {
        return Some(JsonFragment::from_node(node));
    }
    let number = node.as_f64()?;
    // Above 2^53 a double does not identify one integer.
    let is_whole = number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0;
    is_whole.then(|| JsonFragment::number(number as i64))
}

/// Whether `ratio` is like `16:9`; `adaptive` is not.
pub(super) fn is_ratio(ratio: &str) -> bool {
    let is_number = |text: &str| {
        (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let sides = ratio.split_once(':');
    sides.is_some_and(|(width, height)| is_number(width) && is_number(height))
}
