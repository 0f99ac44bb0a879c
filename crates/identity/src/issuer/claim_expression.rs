//! Expressions over the claims of a token.

use headgate_expression::{
    DocumentKind, DocumentValues, EvaluationError, EvaluationPhase, Expression, ExpressionReference,
};
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits, ValueKind};

/// Names and patterns that an expression for models may have.
const MODELS_MAX: usize = 256;

/// An expression that reads nothing but the claims, as `json("/pointer")`.
#[derive(Debug)]
pub(crate) struct ClaimExpression(Expression);

impl ClaimExpression {
    /// # Errors
    /// A sentence that says what is wrong and where.
    pub fn compile(text: &str) -> Result<Self, String> {
        Self::check(text, Expression::compile(text, EvaluationPhase::Body))
    }

    /// As [`Self::compile`], for a condition.
    ///
    /// # Errors
    /// As [`Self::compile`].
    pub fn compile_condition(text: &str) -> Result<Self, String> {
        let compiled = Expression::compile_condition(text, EvaluationPhase::Body);
        Self::check(text, compiled)
    }

    /// As [`Self::compile`], for a text.
    ///
    /// # Errors
    /// As [`Self::compile`].
    pub fn compile_text(text: &str) -> Result<Self, String> {
        Self::check(text, Expression::compile_text(text, EvaluationPhase::Body))
    }

    fn check(
        text: &str,
        compiled: Result<Expression, headgate_expression::CompileError>,
    ) -> Result<Self, String> {
        let expression = compiled.map_err(|error| error.describe(text))?;
        let is_claim = |reference: &ExpressionReference<'_>| {
            matches!(
                reference,
                ExpressionReference::Document(DocumentKind::Request, _)
            )
        };
        match expression.references().iter().all(is_claim) {
            true => Ok(Self(expression)),
            false => {
                Err("an expression here reads nothing but claims, as `json(\"/claim\")`".to_owned())
            }
        }
    }

    /// The value of a condition.
    ///
    /// # Errors
    /// It has none for these claims.
    pub fn is_true(&self, claims: DocumentNode<'_>) -> Result<bool, EvaluationError> {
        self.0.is_true(&values(claims))
    }

    /// The value as text.
    ///
    /// # Errors
    /// It has none for these claims.
    pub fn text(&self, claims: DocumentNode<'_>) -> Result<String, EvaluationError> {
        self.0.text_value(&values(claims))
    }

    /// The value as a list of texts: a list, or one text with spaces between.
    ///
    /// # Errors
    /// It has none for these claims, or is something else.
    pub fn texts(&self, claims: DocumentNode<'_>) -> Result<Vec<String>, EvaluationError> {
        let json = self.0.json(&values(claims))?;
        let limits = JsonLimits {
            depth: 2,
            values: MODELS_MAX + 1,
        };
        let unusable = || EvaluationError {
            message: format!("expected at most {MODELS_MAX} strings"),
        };
        let list = JsonDocument::parse(json, &limits).map_err(|_| unusable())?;
        let root = list.root();
        match root.kind() {
            ValueKind::String => {
                let text = root.as_str().ok_or_else(unusable)?;
                let names = text.split(' ').filter(|name| !name.is_empty());
                let names: Vec<String> = names.take(MODELS_MAX + 1).map(str::to_owned).collect();
                match names.len() <= MODELS_MAX {
                    true => Ok(names),
                    false => Err(unusable()),
                }
            }
            ValueKind::Array => {
                let names = root.elements();
                let names = names.map(|name| Some(name.as_str()?.into_owned()));
                names.collect::<Option<_>>().ok_or_else(unusable)
            }
            _ => Err(unusable()),
        }
    }
}

/// What the expression reads.
fn values(claims: DocumentNode<'_>) -> DocumentValues<'_> {
    DocumentValues {
        kind: DocumentKind::Request,
        root: claims,
    }
}
