//! What an expression reads of an exchange, and the values of an evaluation.

use std::borrow::Cow;
use std::net::IpAddr;
use std::ops::Deref;
use std::rc::Rc;
use std::time::SystemTime;

use headgate_protocol::json::{DocumentNode, ValueKind};

use crate::names::{DocumentKind, MapVariable, Variable};

/// What an expression reads of an exchange. Each method is called only if the evaluation reaches the name.
pub trait ExpressionValueSource {
    /// The value of a text variable; `None` reads as the empty text.
    fn text(&self, variable: Variable) -> Option<Cow<'_, str>>;
    /// The value of a number variable; `None` reads as null. The clock is [`ExpressionValueSource::now`].
    fn number(&self, variable: Variable) -> Option<i64>;
    /// The entry of a map variable. Names of headers are passed in lower case.
    fn entry(&self, map: MapVariable, key: &str) -> Option<Cow<'_, str>>;
    /// The address of the client.
    fn address(&self) -> Option<IpAddr>;
    /// The root of a JSON document; `None` if there is none or it is not JSON.
    fn document(&self, kind: DocumentKind) -> Option<DocumentNode<'_>>;
    /// The id of the request, which also decides what `sample` picks.
    fn request_id(&self) -> &str;
    /// The time of `now`.
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// A value of an evaluation. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum CelValue<'v> {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(CelText<'v>),
    List(Rc<Vec<CelValue<'v>>>),
    Map(Rc<Vec<(CelText<'v>, CelValue<'v>)>>),
    /// An array or object of a document, or a string too long to be read.
    Document(DocumentNode<'v>),
}

/// A text that is borrowed from the exchange or shared by the evaluation.
#[derive(Clone, Debug)]
pub(crate) enum CelText<'v> {
    Borrowed(&'v str),
    Shared(Rc<str>),
}

impl<'v> CelValue<'v> {
    /// The type as messages name it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Document(node) => match node.kind() {
                ValueKind::Array => "list",
                ValueKind::Object => "map",
                _ => "string",
            },
        }
    }

    /// Whether it is a string of a document that is too long to be read.
    pub fn is_long_text(&self) -> bool {
        matches!(self, Self::Document(node) if node.kind() == ValueKind::String)
    }
}

impl Deref for CelText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl<'v> From<Cow<'v, str>> for CelText<'v> {
    fn from(text: Cow<'v, str>) -> Self {
        match text {
            Cow::Borrowed(text) => Self::Borrowed(text),
            Cow::Owned(text) => Self::Shared(text.into()),
        }
    }
}

impl From<String> for CelValue<'_> {
    fn from(text: String) -> Self {
        Self::Text(CelText::Shared(text.into()))
    }
}
