//! Maps a generic create request to a family's request.

use super::VideoFamily;
use super::body_builder::{JsonBodyBuilder, RequestBodyPointer};
use super::field_mapping::{FieldMapping, FieldMappingsForModel, FieldTarget};
use super::field_rule::FieldLimits;
use super::json_fragment::JsonFragment;
use super::path_template::add_to_query;
use super::upload::{UploadIds, UploadedMedium};
use super::value_template::{TemplateError, TemplateValues, ValueTemplate};
use crate::generic::{
    FieldError, GenericField, GenericVideoRequest, InputMedia, MediaRole, UnknownField,
};
use bytes::Bytes;
use headgate_protocol::json::{DocumentNode, JsonDocument};

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
    /// Without the path of the channel's base URL.
    pub path: String,
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
        self.request_with_uploads(request, channel_model, unsupported, &[])
    }

    /// As [`Self::request`], with the ids of the media that were uploaded; 0 stands for an id that is not known yet.
    ///
    /// # Errors
    /// As [`Self::request`].
    pub fn request_with_uploads(
        &self,
        request: &GenericVideoRequest<'_>,
        channel_model: &str,
        unsupported: UnsupportedFieldPolicy,
        uploaded: &[UploadedMedium],
    ) -> Result<MappedRequest, FieldError> {
        if let (UnsupportedFieldPolicy::Refuse, Some(refusal)) =
            (unsupported, UnknownField::refusal(&request.unknown))
        {
            return Err(refusal);
        }
        let rules = self.request.for_model(channel_model);
        let uploads = UploadIds {
            upload: self.upload.as_ref(),
            uploaded,
        };
        let create = match self.reads_create {
            true => Some(request.document(
                channel_model,
                |field| rules.field(field).default_value(),
                |index, role| uploads.id(index, role),
            )),
            false => None,
        };
        let create = create.as_ref().map(JsonDocument::root);
        let nothing = JsonFragment::text("");
        let base = rules.base().fill(TemplateValues {
            value: &nothing,
            create,
        });
        let base = base.map_err(|_| {
            let model = &request.model;
            FieldError::new("", format!("model `{model}` does not support this request"))
        })?;
        let mut writing = RequestMapper {
            model: &request.model,
            unsupported,
            create,
            limits: FieldLimits::new(rules.rules(), create),
            body: base.unwrap_or_default(),
            query: Vec::new(),
            ignored: Vec::new(),
            field_pointers: Vec::new(),
        };
        let model = JsonFragment::text(channel_model);
        writing.field("model", "model", &model, &self.request.model)?;
        let (prompts, others) = request
            .fields
            .iter()
            .partition::<Vec<_>, _>(|(field, _)| field.is_prompt());
        for (field, fragment) in prompts {
            let name = field.name();
            writing.field(name, name, fragment, rules.field(*field))?;
        }
        writing.medias(&request.medias, uploads, &rules)?;
        for (field, fragment) in others {
            let name = field.name();
            writing.field(name, name, fragment, rules.field(*field))?;
        }
        writing.absent_fields(&rules)?;
        let named = request
            .unknown
            .iter()
            .filter(|field| field.has_plain_name());
        for field in named.take(UNKNOWN_NAMED) {
            writing.ignore(&field.param(), &field.message());
        }
        let path = self
            .create
            .path("", channel_model, |at| writing.has(at), create);
        let path = path.ok_or_else(|| {
            let model = writing.model;
            FieldError::new("", format!("model `{model}` does not support this request"))
        })?;
        Ok(writing.finish(path))
    }
}

impl MappedRequest {
    /// The generic field that was set at a pointer in the body, to report an error there.
    pub fn param_at(&self, pointer: &str) -> Option<&str> {
        let within = |outer: &str, inner: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut outer = self.field_pointers.iter();
        let is_outer = |place: &str| !place.is_empty() && within(place, pointer);
        if let Some((_, param)) = outer.find(|(place, _)| is_outer(place)) {
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
struct RequestMapper<'a, 'c> {
    model: &'a str,
    unsupported: UnsupportedFieldPolicy,
    /// The create in the generic shape; `None` if no expression of the family reads it.
    create: Option<DocumentNode<'c>>,
    limits: FieldLimits<'a>,
    body: JsonBodyBuilder<'a>,
    /// Members of the query, by name.
    query: Vec<(&'a str, String)>,
    ignored: Vec<IgnoredField>,
    field_pointers: Vec<(String, String)>,
}

impl<'a> RequestMapper<'a, '_> {
    /// Media that go to elements of a list are set in the order of the list, the others in that of the request.
    fn medias(
        &mut self,
        medias: &[InputMedia<'a>],
        uploads: UploadIds<'_>,
        rules: &FieldMappingsForModel<'a>,
    ) -> Result<(), FieldError> {
        let mut ordered: Vec<_> = medias.iter().enumerate().collect();
        ordered.sort_by_key(|(_, media)| rules.media(media.kind).element().unwrap_or(usize::MAX));
        for (at, InputMedia { kind, url }) in ordered {
            let id = uploads.id(at, *kind).map(|id| JsonFragment::written(&id));
            let value = id.as_ref().unwrap_or(url);
            let param = format!("medias[{at}]");
            self.field(kind.name(), &param, value, rules.media(*kind))?;
        }
        for role in MediaRole::ALL {
            let is_given = medias.iter().any(|media| media.kind == role);
            let name = role.name();
            if !is_given && let Some(when) = self.required(name, rules.media(role)) {
                let model = self.model;
                let message =
                    format!("model `{model}` needs a medium with the role `{name}`{when}");
                return Err(FieldError::new("medias", message));
            }
        }
        Ok(())
    }

    /// Sets the defaults of fields that are not set, and misses those that the family requires.
    fn absent_fields(&mut self, rules: &FieldMappingsForModel<'a>) -> Result<(), FieldError> {
        for field in GenericField::ALL {
            let (name, rule) = (field.name(), rules.field(field));
            if self.field_pointers.iter().any(|(_, param)| param == name) {
                continue;
            }
            if let Some(default) = rule.default_value() {
                self.field(name, name, &JsonFragment::written(default), rule)?;
            } else if let Some(when) = self.required(name, rule) {
                let model = self.model;
                let message =
                    format!("missing required field `{name}`: model `{model}` needs it{when}");
                return Err(FieldError::new(name, message));
            }
        }
        Ok(())
    }

    /// When the field must be given, with a blank before it, empty for always; `None` if it need not.
    fn required(&self, name: &str, rule: &FieldMapping) -> Option<String> {
        match rule.is_required() {
            true => Some(String::new()),
            false => self.limits.required(name).map(|when| format!(" {when}")),
        }
    }

    /// Sets a field, or a medium of a role, with this name; `param` is its place in the request.
    fn field(
        &mut self,
        name: &str,
        param: &str,
        fragment: &JsonFragment<'a>,
        rule: &'a FieldMapping,
    ) -> Result<(), FieldError> {
        let model = self.model;
        if rule.put().is_some()
            && let Err(message) = self.limits.check(name, param, model, fragment)
        {
            return self.unsupported_field(param, message);
        }
        match rule {
            FieldMapping::Put(put) => match put.values.mapped(fragment, None) {
                Ok(fragment) => self.put(param, &put.to, &put.value, &fragment),
                Err(expected) => {
                    let message = format!("`{param}` of model `{model}` must be {expected}");
                    self.unsupported_field(param, message)
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
        to: &'a FieldTarget,
        template: &'a ValueTemplate,
        fragment: &JsonFragment<'a>,
    ) -> Result<(), FieldError> {
        let model = self.model;
        let filled = template.fill(TemplateValues {
            value: fragment,
            create: self.create,
        });
        let value = match filled {
            Ok(Some(value)) => value,
            Ok(None) => return Ok(()),
            Err(TemplateError::NoDataUri) => {
                let message =
                    format!("`{param}`: model `{model}` takes no URLs; send a data URI in base64");
                return self.unsupported_field(param, message);
            }
            Err(TemplateError::NoValue) => {
                let message = format!(
                    "`{param}`: model `{model}` does not support this value with the other fields"
                );
                return self.unsupported_field(param, message);
            }
        };
        match to {
            FieldTarget::Nowhere => {
                self.field_pointers.push((String::new(), param.to_owned()));
                Ok(())
            }
            FieldTarget::Query(name) => {
                self.query.push((name, fragment.text_value().into_owned()));
                self.field_pointers.push((String::new(), param.to_owned()));
                Ok(())
            }
            FieldTarget::Body(to) => self.put_in_body(param, to, value),
        }
    }

    fn put_in_body(
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
                let message = match to.element() {
                    Some(index) if index > 0 => format!(
                        "`{param}`: model `{model}` accepts one entry of this kind, and only after the one before it"
                    ),
                    _ => format!("`{param}`: model `{model}` accepts only one entry of this kind"),
                };
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

    /// Whether a generic field was set at or below a pointer in the body.
    fn has(&self, pointer: &str) -> bool {
        let mut field_pointers = self.field_pointers.iter();
        field_pointers.any(|(place, _)| {
            let rest = place.strip_prefix(pointer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    fn finish(self, mut path: String) -> MappedRequest {
        for (name, value) in &self.query {
            add_to_query(&mut path, name, value);
        }
        MappedRequest {
            path,
            body: self.body.to_json().into(),
            ignored: self.ignored,
            field_pointers: self.field_pointers,
        }
    }
}
