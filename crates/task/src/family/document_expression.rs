//! Expressions in a family's definition: over a create in the generic shape, or over a response of the provider.

use bytes::Bytes;
use headgate_expression::{
    DocumentKind, DocumentValues, EvaluationError, EvaluationPhase, Expression,
    ExpressionReference, Variable,
};
use headgate_protocol::json::DocumentNode;

/// Where the document of a create has the channel's model.
pub(super) const CHANNEL_MODEL: &str = "/channel_model";
/// Where it has the model that the caller named.
const CALLERS_MODEL: &str = "/model";

/// An expression that reads nothing but one JSON document.
#[derive(Clone, Debug)]
pub(super) struct DocumentExpression {
    expression: Expression,
    document: DocumentKind,
}

impl DocumentExpression {
    /// An expression over a create in the generic shape, which `json("/pointer")` reads.
    ///
    /// # Errors
    /// A sentence that says what is wrong and where.
    pub fn over_create(text: &str) -> Result<Self, String> {
        // The phase in which all names of a create are known, so that the error for each is the one below.
        let compiled = Self::compile(text, DocumentKind::Request, EvaluationPhase::Attempt)?;
        match compiled.reads(CALLERS_MODEL) {
            true => Err(format!(
                "`json(\"{CALLERS_MODEL}\")` is the platform model, which the definition cannot know; the channel's model is \
                 `json(\"{CHANNEL_MODEL}\")`"
            )),
            false => Ok(compiled),
        }
    }

    /// An expression over a response, which `response_json("/pointer")` reads.
    ///
    /// # Errors
    /// As [`Self::over_create`].
    pub fn over_response(text: &str) -> Result<Self, String> {
        Self::compile(text, DocumentKind::Response, EvaluationPhase::ResponseBody)
    }

    fn compile(text: &str, reads: DocumentKind, phase: EvaluationPhase) -> Result<Self, String> {
        let expression = Expression::compile(text, phase).map_err(|error| error.describe(text))?;
        let references = expression.references();
        let is_only_document = references.iter().all(
            |reference| matches!(reference, ExpressionReference::Document(kind, _) if *kind == reads),
        );
        let function = match reads {
            DocumentKind::Response => "response_json",
            DocumentKind::Request | DocumentKind::Event => "json",
        };
        match is_only_document {
            true => Ok(Self {
                expression,
                document: reads,
            }),
            false => {
                let reads_model = references.iter().any(|reference| {
                    *reference == ExpressionReference::Variable(Variable::ChannelModel)
                });
                let hint = match reads_model {
                    true => format!("; the channel's model is `json(\"{CHANNEL_MODEL}\")`"),
                    false => String::new(),
                };
                Err(format!(
                    "an expression here reads nothing but `{function}(\"/pointer\")`{hint}"
                ))
            }
        }
    }

    /// The value as JSON text; `None` if it is null.
    ///
    /// # Errors
    /// The expression has no value for this document.
    pub fn json(&self, root: DocumentNode<'_>) -> Result<Option<Bytes>, EvaluationError> {
        let values = DocumentValues {
            kind: self.document,
            root,
        };
        let json = self.expression.json(&values)?;
        Ok((json != "null").then_some(json))
    }

    /// Whether the expression reads the value at a pointer.
    pub fn reads(&self, wanted: &str) -> bool {
        let references = self.expression.references();
        references.iter().any(|reference| {
            matches!(reference, ExpressionReference::Document(_, pointer) if *pointer == wanted)
        })
    }

    /// Whether the value is true; one that has no value is not.
    pub fn is_true(&self, root: DocumentNode<'_>) -> bool {
        self.json(root)
            .is_ok_and(|json| json.as_deref() == Some(b"true"))
    }

    /// The expression as written.
    pub fn expression_text(&self) -> &str {
        self.expression.text()
    }

    /// The value as text; `None` if it is null, empty, a list or an object, or if the expression has no value.
    pub fn text(&self, root: DocumentNode<'_>) -> Option<String> {
        let json = self.json(root).ok()??;
        match serde_json::from_slice(&json).ok()? {
            serde_json::Value::String(text) => (!text.is_empty()).then_some(text),
            serde_json::Value::Array(_) | serde_json::Value::Object(_) => None,
            scalar => Some(scalar.to_string()),
        }
    }
}

impl PartialEq for DocumentExpression {
    fn eq(&self, other: &Self) -> bool {
        self.expression.text() == other.expression.text()
    }
}

impl Eq for DocumentExpression {}
