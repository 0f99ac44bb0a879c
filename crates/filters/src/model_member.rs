//! The member of a body that names the model; in a form it is the field of this name.

use headgate_protocol::Protocol;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{DocumentNode, JsonDocument, ValueKind};
use std::borrow::Cow;

/// The name of the parameter of the path that names the model.
pub const MODEL: &str = "model";

/// A member of the body, with the objects around it. In a form it is the field of this name.
pub struct ModelMember(Vec<String>);

impl ModelMember {
    /// The member that these names lead to.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self(names.into_iter().collect())
    }

    /// The member that the formats of a protocol have.
    pub fn for_protocol(protocol: Protocol) -> Self {
        let names = protocol.descriptor().model_member.iter();
        Self(names.map(|name| (*name).to_owned()).collect())
    }

    /// The value in `body`.
    pub fn find<'b>(&self, body: &'b JsonDocument) -> Option<DocumentNode<'b>> {
        let mut names = self.0.iter();
        names.try_fold(body.root(), |object, name| object.get(name))
    }

    /// The name of the field in forms; `None` if the member has objects around it, which forms do not have.
    pub fn field(&self) -> Option<&str> {
        match self.0.as_slice() {
            [name] => Some(name),
            _ => None,
        }
    }

    /// The model that `body` names. That of a form must not have what some clients add to it by mistake.
    ///
    /// # Errors
    /// The member is missing, or is not the name of a model.
    pub fn named<'b>(&self, body: &'b JsonDocument, is_form: bool) -> Result<Cow<'b, str>, Fault> {
        if body.root().kind() != ValueKind::Object {
            let received = body.root().type_name();
            let message = format!("the body must be a JSON object, received {received}");
            return Err(Fault::new(FaultKind::Invalid, message));
        }
        if let [name] = self.0.as_slice()
            && let Some(other) = body.root().key_in_other_case(name)
        {
            let message =
                format!("unknown field `{other}`; field names are case-sensitive, use `{name}`");
            return Err(Fault::new(FaultKind::Invalid, message).param(&*other));
        }
        let Some(model) = self.find(body) else {
            let what = if is_form { "form field" } else { "field" };
            let message = format!(
                "missing required {what} `{}`; set it to the name of a model",
                self.path()
            );
            return Err(Fault::new(FaultKind::Missing, message).param(self.path()));
        };
        match model.as_str() {
            Some(name) if name.is_empty() => Err(self.invalid("must not be empty")),
            Some(name) if is_form && name.contains(|c: char| c.is_control() || c == '"') => {
                Err(self.invalid("must not have quotes or line ends"))
            }
            Some(name) => Ok(name),
            None if is_form => Err(self.invalid("must be a text, not a file or a list")),
            None => Err(self.invalid(&format!("must be a string, received {}", model.type_name()))),
        }
    }

    /// Edits `body` so that it names this model; returns whether it named another one, or none.
    /// `body` of a form is its description.
    ///
    /// # Errors
    /// As [`Self::named`], but for a missing member of JSON.
    pub fn set(
        &self,
        body: &JsonDocument,
        is_form: bool,
        name: &str,
        edits: &mut JsonEdits,
    ) -> Result<bool, Fault> {
        let text = || serde_json::Value::from(name).to_string();
        match self.named(body, is_form) {
            Ok(known) if known == name => return Ok(false),
            Ok(_) => {
                let known = self.find(body).map(|model| model.span());
                edits.replace(known.unwrap_or_default(), text());
            }
            Err(fault) => match (fault.kind, self.0.split_last()) {
                (FaultKind::Missing, Some((last, objects))) => {
                    if is_form
                        && body
                            .root()
                            .members()
                            .any(|(name, _)| is_inside(&name, last))
                    {
                        return Err(self.invalid("must be a text, not a file or a list"));
                    }
                    let mut objects = objects.iter();
                    let object = objects.try_fold(body.root(), |object, name| object.get(name));
                    let object = object.filter(|object| object.kind() == ValueKind::Object);
                    edits.insert_member(object.ok_or(fault)?, last, text());
                }
                _ => return Err(fault),
            },
        }
        Ok(true)
    }

    fn invalid(&self, what: &str) -> Fault {
        let path = self.path();
        let message = format!("`{path}` {what}; set it to the name of a model");
        Fault::new(FaultKind::Invalid, message).param(path)
    }

    fn path(&self) -> String {
        self.0.join(".")
    }
}

/// Whether some parsers of forms read the field `name` as a part of the field `whole`, such as `model[0]` and `model.x`.
fn is_inside(name: &str, whole: &str) -> bool {
    let rest = name.strip_prefix(whole);
    rest.is_some_and(|rest| rest.starts_with(['[', '.']))
}
