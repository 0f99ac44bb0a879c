//! Maps a generic create request to a family's request.

use super::body_builder::{JsonBodyBuilder, RequestBodyPointer};
use super::json_fragment::JsonFragment;
use super::{AllowedValues, FieldMapping, VideoFamily};
use crate::task::generic::{FieldError, GenericVideoRequest, InputMedia, UnknownField};
use bytes::Bytes;

/// How fields are handled that the family does not support or that the generic protocol does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsupportedFieldPolicy {
    Refuse,
    /// They are omitted, and reported in a header.
    Ignore,
}

/// A family's request.
#[derive(Debug)]
pub struct MappedRequest {
    pub body: Bytes,
    /// The omitted fields, in the order of the request.
    pub ignored: Vec<IgnoredField>,
    /// JSON pointers into `body`, each with the generic field that was set there.
    field_pointers: Vec<(String, String)>,
}

/// A field that was omitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredField {
    /// The field, such as `medias[2]`.
    pub param: String,
    /// One sentence: why. Lower case, without a full stop.
    pub message: String,
}

/// The maximum number of unknown members that are reported, so that no caller determines the size of the header.
const UNKNOWN_NAMED: usize = 8;

impl VideoFamily {
    /// Maps a generic create request for the channel's model.
    ///
    /// # Errors
    /// A field that the generic protocol does not have, or the first one that the family does not support, with the
    /// name of the platform model.
    pub fn request(
        &self,
        request: &GenericVideoRequest<'_>,
        channel_model: &str,
        unsupported: UnsupportedFieldPolicy,
    ) -> Result<MappedRequest, FieldError> {
        if let (UnsupportedFieldPolicy::Refuse, Some(refusal)) =
            (unsupported, UnknownField::refusal(&request.unknown))
        {
            return Err(refusal);
        }
        let rules = &self.request;
        let nothing = JsonFragment::text("");
        let mut writing = RequestMapper {
            model: &request.model,
            unsupported,
            body: rules.base.fill(&nothing),
            ignored: Vec::new(),
            field_pointers: Vec::new(),
        };
        let model = JsonFragment::text(channel_model);
        writing.field("model", &model, &rules.model)?;
        let (prompts, others) = request
            .fields
            .iter()
            .partition::<Vec<_>, _>(|(field, _)| field.is_prompt());
        for (field, fragment) in prompts {
            writing.field(field.name(), fragment, &rules.fields[*field as usize])?;
        }
        for (at, InputMedia { kind, url }) in request.medias.iter().enumerate() {
            let param = format!("medias[{at}]");
            writing.field(&param, url, &rules.medias[*kind as usize])?;
        }
        for (field, fragment) in others {
            writing.field(field.name(), fragment, &rules.fields[*field as usize])?;
        }
        let named = request
            .unknown
            .iter()
            .filter(|field| field.has_plain_name());
        for field in named.take(UNKNOWN_NAMED) {
            writing.ignore(&field.param(), &field.message());
        }
        Ok(writing.finish())
    }
}

impl MappedRequest {
    /// Whether a generic field was set at or below a pointer in the body.
    pub fn has(&self, pointer: &str) -> bool {
        let mut field_pointers = self.field_pointers.iter();
        field_pointers.any(|(place, _)| {
            let rest = place.strip_prefix(pointer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// The generic field that was set at a pointer in the body, to report an error there.
    pub fn param_at(&self, pointer: &str) -> Option<&str> {
        let within = |outer: &str, inner: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut outer = self.field_pointers.iter();
        if let Some((_, param)) = outer.find(|(place, _)| within(place, pointer)) {
            return Some(param);
        }
        let inner = self.field_pointers.iter();
        let mut inner = inner.filter(|(place, _)| !pointer.is_empty() && within(pointer, place));
        // An error in an object or list is most often about a repeated field, so that a list is preferred.
        let list = inner.clone().find_map(|(_, param)| param.split_once('['));
        match list {
            Some((list, _)) => Some(list),
            None => inner.next().map(|(_, param)| &**param),
        }
    }
}

/// A request while it is mapped.
struct RequestMapper<'a> {
    model: &'a str,
    unsupported: UnsupportedFieldPolicy,
    body: JsonBodyBuilder<'a>,
    ignored: Vec<IgnoredField>,
    field_pointers: Vec<(String, String)>,
}

impl<'a> RequestMapper<'a> {
    fn field(
        &mut self,
        param: &str,
        fragment: &JsonFragment<'a>,
        rule: &'a FieldMapping,
    ) -> Result<(), FieldError> {
        let model = self.model;
        match rule {
            FieldMapping::Put { to, value, choices } => match mapped_value(choices, fragment) {
                Some(fragment) => self.put(param, to, value.fill(&fragment)),
                None => {
                    let choices = choices.choices_text();
                    self.unsupported_field(
                        param,
                        format!("`{param}` of model `{model}` must be one of {choices}"),
                    )
                }
            },
            FieldMapping::Refuse(why) => {
                self.unsupported_field(param, format!("`{param}`: model `{model}` {why}"))
            }
            FieldMapping::Ignore(why) => {
                self.ignore(param, &format!("`{param}`: model `{model}` {why}"));
                Ok(())
            }
        }
    }

    fn put(
        &mut self,
        param: &str,
        to: &'a RequestBodyPointer,
        value: JsonBodyBuilder<'a>,
    ) -> Result<(), FieldError> {
        match self.body.put(to, value) {
            Ok(index) => {
                self.field_pointers
                    .push((to.pointer(index), param.to_owned()));
                Ok(())
            }
            Err(_) => {
                let model = self.model;
                let message =
                    format!("`{param}`: model `{model}` accepts only one entry of this kind");
                self.unsupported_field(param, message)
            }
        }
    }

    fn unsupported_field(&mut self, param: &str, message: String) -> Result<(), FieldError> {
        match self.unsupported {
            UnsupportedFieldPolicy::Refuse => Err(FieldError::new(param, message)),
            UnsupportedFieldPolicy::Ignore => {
                self.ignore(param, &message);
                Ok(())
            }
        }
    }

    fn ignore(&mut self, param: &str, message: &str) {
        self.ignored.push(IgnoredField {
            param: param.to_owned(),
            message: message.to_owned(),
        });
    }

    fn finish(self) -> MappedRequest {
        MappedRequest {
            body: self.body.to_json().into(),
            ignored: self.ignored,
            field_pointers: self.field_pointers,
        }
    }
}

impl AllowedValues {
    fn choices_text(&self) -> String {
        match self {
            Self::Any => String::new(),
            Self::Of(choices) => {
                let words: Vec<&str> = choices.iter().map(|(word, _)| &**word).collect();
                words.join(", ")
            }
        }
    }
}

/// The provider's value for a field's value; `None` if it does not support the value.
fn mapped_value<'a>(
    choices: &AllowedValues,
    fragment: &JsonFragment<'a>,
) -> Option<JsonFragment<'a>> {
    let AllowedValues::Of(choices) = choices else {
        return Some(fragment.clone());
    };
    let word = fragment.text_value();
    let (_, stands_for) = choices.iter().find(|(choice, _)| *choice == word)?;
    Some(match stands_for {
        Some(value) => JsonFragment::written(value),
        None => fragment.clone(),
    })
}
