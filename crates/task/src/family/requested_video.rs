//! What a create asks for, as far as the cost of a video depends on it.

use super::VideoFamily;
use super::allowed_values::AllowedValues;
use crate::generic::GenericField;
use crate::resolution;
use headgate_protocol::json::JsonDocument;
use serde_json::Value;
use std::borrow::Cow;

/// The longest name of a resolution that is read, in bytes.
const RESOLUTION_BYTES_MAX: usize = 32;

/// Duration and resolution that a create asks for; `None` if it leaves them to the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestedVideo {
    pub duration_ms: Option<u64>,
    /// In lower case, by its name in the generic protocol.
    pub resolution: Option<String>,
}

impl VideoFamily {
    /// What a caller's create asks for, in the generic protocol or in that of the family, or else what the family asks for by
    /// default.
    pub fn requested_video(
        &self,
        request: &JsonDocument,
        channel_model: &str,
        is_generic: bool,
    ) -> RequestedVideo {
        let rules = self.request.for_model(channel_model);
        let default = |field: GenericField| {
            let rule = is_generic.then(|| rules.field(field))?;
            rule.default_value()
        };
        let node = |field: GenericField| {
            let pointer = match is_generic {
                true => format!("/{}", field.name()),
                false => self.request.fields.fields[field as usize]
                    .target()?
                    .pointer(0),
            };
            request.root().pointer(&pointer)
        };
        let resolution = node(GenericField::Resolution);
        let resolution = resolution.and_then(|node| node.text_start(RESOLUTION_BYTES_MAX));
        let duration = node(GenericField::Duration).filter(|node| !node.is_null());
        let duration = match duration {
            Some(node) => node.as_f64(),
            None => default(GenericField::Duration).and_then(Value::as_f64),
        };
        let resolution = resolution.filter(|text| !text.is_empty());
        let resolution =
            resolution.or_else(|| default(GenericField::Resolution)?.as_str().map(Cow::from));
        RequestedVideo {
            duration_ms: duration.and_then(milliseconds),
            resolution: resolution.map(|text| self.generic_resolution(&text).to_ascii_lowercase()),
        }
    }

    /// The resolution that the family has for the channel's model in place of one that it does not have: the nearest, if it is
    /// near. `None` if the family has the resolution, or lists none.
    pub fn near_resolution(&self, wanted: &str, channel_model: &str) -> Option<&str> {
        let rules = self.request.for_model(channel_model);
        let put = rules.field(GenericField::Resolution).put()?;
        let AllowedValues::Of(choices) = &put.values else {
            return None;
        };
        let mut names = choices.iter().map(|(name, _)| &**name);
        match names.clone().any(|name| name == wanted) {
            true => None,
            false => resolution::near(wanted, &mut names),
        }
    }

    /// The generic name of a resolution that may be written as the family does.
    fn generic_resolution<'t>(&'t self, text: &'t str) -> &'t str {
        let field = self.request.fields.fields[GenericField::Resolution as usize].put();
        let Some(AllowedValues::Of(choices)) = field.map(|put| &put.values) else {
            return text;
        };
        let is_meant = |value: &Option<Value>| {
            let word = value.as_ref().and_then(Value::as_str);
            word.is_some_and(|word| word == text)
        };
        let meant = choices.iter().find(|(_, value)| is_meant(value));
        meant.map_or(text, |(name, _)| name)
    }
}

/// A duration in seconds; providers choose it if it is -1.
fn milliseconds(seconds: f64) -> Option<u64> {
    let is_duration = seconds > 0.0 && seconds <= 86_400.0;
    is_duration.then(|| (seconds * 1000.0).round() as u64)
}
