//! Example creates for each mode of a family: with as many fields as the family takes, and what it refuses.

use super::mapped;
use headgate_core::task::family::{MappedRequest, VideoFamily};
use headgate_core::task::generic::{FieldError, MediaRole};
use serde_json::{Map, Value, json};

/// An example create of one mode.
pub struct ModeExample {
    /// `text`, or the role of a medium.
    pub mode: &'static str,
    /// The create in the generic shape, without `model`.
    pub create: Map<String, Value>,
    /// The family's request; the reason if no example could be found.
    pub request: Result<MappedRequest, FieldError>,
    pub notes: Vec<ExampleNote>,
}

/// What a family does with a field beside what the request shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExampleNote {
    pub kind: ExampleNoteKind,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExampleNoteKind {
    /// The field is refused, whatever its value.
    Refused,
    /// The field is left out.
    Ignored,
    /// The field has other values than any.
    Limited,
}

/// A create in the generic shape, while it is made to fit a family.
struct ExampleCreate<'f> {
    family: &'f VideoFamily,
    model: &'f str,
    create: Map<String, Value>,
    notes: Vec<ExampleNote>,
}

/// The mode without a medium.
const TEXT: &str = "text";
/// How often a field is added that the family requires.
const REPAIRS_MAX: usize = 12;

impl ModeExample {
    /// An example of each mode.
    pub fn all(family: &VideoFamily, model: &str) -> Vec<Self> {
        let modes = family.modes();
        let examples = modes.iter().map(|mode| Self::new(family, model, mode));
        examples.collect()
    }

    fn new(family: &VideoFamily, model: &str, mode: &'static str) -> Self {
        let mut example = ExampleCreate {
            family,
            model,
            create: Map::new(),
            notes: Vec::new(),
        };
        example.create.insert("prompt".into(), json!("a cat"));
        let has_first = family.modes().contains(&MediaRole::FirstFrame.name());
        let is_last = mode == MediaRole::LastFrame.name();
        if is_last && has_first {
            example.add_medium(MediaRole::FirstFrame);
        }
        if let Some(role) = MediaRole::ALL.into_iter().find(|role| role.name() == mode) {
            example.add_medium(role);
        }
        // A create of a model that needs a medium is none from a text.
        let no_text = example.mapped().err();
        let no_text = no_text.filter(|refusal| mode == TEXT && refusal.param == "medias");
        if no_text.is_none() && example.repair().is_ok() {
            example.add_fields();
        }
        Self {
            mode,
            request: no_text.map_or_else(|| example.mapped(), Err),
            create: example.create,
            notes: example.notes,
        }
    }
}

impl ExampleCreate<'_> {
    fn mapped(&self) -> Result<MappedRequest, FieldError> {
        mapped(self.family, self.model, &self.create)
    }

    fn add_medium(&mut self, role: MediaRole) {
        let medias = self.create.entry("medias").or_insert_with(|| json!([]));
        if let Some(medias) = medias.as_array_mut() {
            medias.push(medium(role));
        }
    }

    /// Adds what the family requires, until it has a request for the create.
    fn repair(&mut self) -> Result<(), FieldError> {
        for _ in 0..REPAIRS_MAX {
            let Err(refusal) = self.mapped() else {
                return Ok(());
            };
            let before = self.create.clone();
            match &*refusal.param {
                "medias" => self.add_required_medium(),
                "prompt" => drop(self.create.remove("prompt")),
                param if param.starts_with("medias[") => self.use_data_uris(),
                param => self.add_required_field(param),
            }
            if self.create == before {
                return Err(refusal);
            }
        }
        self.mapped().map(drop)
    }

    fn add_required_medium(&mut self) {
        let before = self.create.clone();
        for role in MediaRole::ALL {
            self.create = before.clone();
            self.add_medium(role);
            let refusal = self.mapped().err();
            if refusal.is_none_or(|refusal| !refusal.param.starts_with("medias")) {
                return;
            }
        }
        self.create = before;
    }

    fn use_data_uris(&mut self) {
        for medium in self.create["medias"].as_array_mut().into_iter().flatten() {
            let kind = medium["type"].as_str().unwrap_or_default();
            medium["url"] = json!(data_uri(kind));
        }
    }

    fn add_required_field(&mut self, param: &str) {
        let Some((name, values)) = optional_fields()
            .into_iter()
            .find(|(name, _)| *name == param)
        else {
            return;
        };
        for value in values {
            self.create.insert(name.to_owned(), value);
            if self
                .mapped()
                .err()
                .is_none_or(|refusal| refusal.param != name)
            {
                return;
            }
        }
        self.create.remove(name);
    }

    /// Adds each field with the first value that the family takes.
    fn add_fields(&mut self) {
        for (name, values) in optional_fields() {
            let mut refusals = Vec::new();
            let known = self.create.get(name).cloned();
            for value in known.into_iter().chain(values) {
                self.create.insert(name.to_owned(), value);
                match self.mapped() {
                    Ok(request) => {
                        let mut ignored = request.ignored.into_iter();
                        if let Some(ignored) = ignored.find(|field| field.param == name) {
                            self.create.remove(name);
                            self.note(ExampleNoteKind::Ignored, ignored.message);
                        }
                        refusals.clear();
                        break;
                    }
                    Err(refusal) => {
                        self.create.remove(name);
                        refusals.push(refusal);
                    }
                }
            }
            match refusals.into_iter().next() {
                Some(refusal) => self.note(ExampleNoteKind::Refused, refusal.message),
                None => self.note_limits(name),
            }
        }
    }

    /// Notes what a value must be that no family has.
    fn note_limits(&mut self, name: &str) {
        let Some(given) = self.create.get(name).cloned() else {
            return;
        };
        let mut values = impossible_values().into_iter();
        let value = match (values.find(|(field, _)| *field == name), &given) {
            (Some((_, value)), _) => value,
            (None, Value::Bool(given)) => json!(!given),
            (None, _) => return,
        };
        self.create.insert(name.to_owned(), value);
        if let Err(FieldError { message, .. }) = self.mapped() {
            // The nearest value to one that nobody would send is of no use.
            let limits = message.split("; the nearest").next().unwrap_or(&message);
            self.note(ExampleNoteKind::Limited, limits.to_owned());
        }
        self.create.insert(name.to_owned(), given);
    }

    fn note(&mut self, kind: ExampleNoteKind, message: String) {
        self.notes.push(ExampleNote { kind, message });
    }
}

/// The path of a create of the family, whatever it has; `None` if no example could be found.
pub fn create_path(family: &VideoFamily, model: &str) -> Option<String> {
    let mut examples = ModeExample::all(family, model).into_iter();
    examples.find_map(|example| Some(example.request.ok()?.path))
}

/// The refusals of media that the family takes in no mode.
pub fn refused_media(family: &VideoFamily, model: &str) -> Vec<String> {
    let modes = family.modes();
    let roles = MediaRole::ALL.into_iter();
    let roles = roles.filter(|role| !modes.contains(&role.name()));
    let refused = roles.filter_map(|role| {
        let create = json!({"prompt": "a cat", "medias": [medium(role)]});
        let refusal = mapped(family, model, create.as_object()?).err()?;
        let message = refusal
            .message
            .replace("`medias[0]`", &format!("`{}`", role.name()));
        Some(message)
    });
    refused.collect()
}

fn medium(role: MediaRole) -> Value {
    let (kind, name) = (role.type_name(), role.name());
    let extension = match kind {
        "image" => "png",
        "video" => "mp4",
        _ => "mp3",
    };
    let url = format!("https://media.example/{name}.{extension}");
    json!({"type": kind, "role": name, "url": url})
}

fn data_uri(kind: &str) -> String {
    let media_type = match kind {
        "image" => "image/png",
        "video" => "video/mp4",
        _ => "audio/mpeg",
    };
    format!("data:{media_type};base64,AAAA")
}

/// The fields that a create may have, with values of which most families take one.
fn optional_fields() -> [(&'static str, Vec<Value>); 8] {
    let resolutions = ["720p", "1080p", "768p", "480p", "2k", "4k"];
    [
        ("negative_prompt", vec![json!("rain")]),
        ("duration", [5, 6, 8, 4, 10].map(Value::from).to_vec()),
        ("resolution", resolutions.map(Value::from).to_vec()),
        (
            "ratio",
            ["16:9", "9:16", "1:1", "adaptive"]
                .map(Value::from)
                .to_vec(),
        ),
        ("generate_audio", vec![json!(true), json!(false)]),
        ("watermark", vec![json!(false), json!(true)]),
        ("seed", vec![json!(7)]),
        ("callback_url", vec![json!("https://caller.example/done")]),
    ]
}

/// Values that no family takes unless it takes any.
fn impossible_values() -> [(&'static str, Value); 4] {
    [
        ("duration", json!(99_999)),
        ("resolution", json!("1p")),
        ("ratio", json!("999:1")),
        ("seed", json!(1_u64 << 53)),
    ]
}
