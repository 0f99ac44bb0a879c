//! Where the requests of a protocol name their model: a member of the body, a field of a form, or a segment of the path.

use headgate_core::filter::descriptor::{BuildContext, InvalidSettings};
use headgate_protocol::Protocol;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::{DocumentNode, JsonDocument, ValueKind};
use std::borrow::Cow;

/// The name of the parameter of the path that names the model.
pub const MODEL: &str = "model";

/// Where a request names its model.
pub enum ModelPlace {
    Member(ModelMember),
    /// The parameter of the path.
    Path,
}

/// A member of the body, with the objects around it. In a form it is the field of this name.
pub struct ModelMember(Vec<String>);

impl ModelPlace {
    /// # Errors
    /// The vendor's API has the model in its paths, and those of the route do not.
    pub fn new(protocol: Protocol, context: &BuildContext<'_>) -> Result<Self, InvalidSettings> {
        let Some(family) = context.tasks.native_families(protocol).next() else {
            return Ok(Self::Member(ModelMember::for_protocol(protocol)));
        };
        match family.model_member() {
            Some(pointer) if !family.native_api().names_model_in_path() => {
                let names = pointer.split('/').skip(1).map(str::to_owned);
                Ok(Self::Member(ModelMember(names.collect())))
            }
            _ if (context.has_parameter)(MODEL) => Ok(Self::Path),
            _ => Err(InvalidSettings::new(
                "the API of this protocol has the model in its paths, and the route's path has no `{model}`",
            )
            .hint("add `{model}` or `{+model}` to the path of `match`")),
        }
    }
}

impl ModelMember {
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

    fn invalid(&self, what: &str) -> Fault {
        let path = self.path();
        let message = format!("`{path}` {what}; set it to the name of a model");
        Fault::new(FaultKind::Invalid, message).param(path)
    }

    fn path(&self) -> String {
        self.0.join(".")
    }
}
