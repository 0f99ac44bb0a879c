//! The condition (`if`) of a step: its expression, what happens if it cannot be evaluated, and its outcomes.

use super::expression::{ExchangeValues, FilterExpression, evaluation_fault};
use super::view::RequestView;
use headgate_protocol::fault::Fault;
use std::sync::Arc;

/// The condition of a step of a chain.
#[derive(Clone)]
pub struct StepCondition {
    /// Identifies the condition within the snapshot.
    pub id: ConditionId,
    /// Name of the step's filter, for messages.
    pub filter: &'static str,
    pub expression: FilterExpression,
    pub on_error: ConditionErrorAction,
}

/// Identifies a condition within a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConditionId(pub usize);

/// What happens to a step whose condition cannot be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionErrorAction {
    /// The filter does not run.
    Skip,
    /// The filter runs.
    Run,
    /// The request is refused.
    Refuse,
}

/// Which conditions of an exchange held, as far as they were evaluated.
#[derive(Default)]
struct ConditionOutcomes(Vec<(ConditionId, ConditionOutcome)>);

/// Which conditions of the request's steps held so far, in the order of their evaluation.
pub fn outcomes(request: &RequestView) -> impl Iterator<Item = bool> {
    let outcomes: Option<&ConditionOutcomes> = request.state.get();
    let outcomes = outcomes.into_iter().flat_map(|ConditionOutcomes(all)| all);
    outcomes.map(|(_, outcome)| outcome.runs)
}

/// The last evaluation of a condition.
#[derive(Clone)]
pub struct ConditionOutcome {
    /// Whether the filter runs.
    pub runs: bool,
    /// Why the condition could not be evaluated.
    pub error: Option<Arc<str>>,
}

impl StepCondition {
    /// Evaluates the condition: whether the filter runs.
    ///
    /// # Errors
    /// The condition cannot be evaluated, and `on_error` is `refuse`.
    pub fn evaluate(&self, values: ExchangeValues<'_>) -> Result<ConditionOutcome, Fault> {
        let error = match self.expression.is_true(values) {
            Ok(runs) => return Ok(ConditionOutcome { runs, error: None }),
            Err(error) => error,
        };
        let place = format!("condition of `{}`", self.filter);
        let runs = match self.on_error {
            ConditionErrorAction::Skip => false,
            ConditionErrorAction::Run => true,
            ConditionErrorAction::Refuse => return Err(evaluation_fault(&place, &error)),
        };
        tracing::warn!(filter = self.filter, error = %error.message, runs, "condition could not be evaluated");
        Ok(ConditionOutcome {
            runs,
            error: Some(error.message.into()),
        })
    }

    /// Records the outcome for the later hooks of the filter.
    pub fn record(&self, request: &mut RequestView, outcome: ConditionOutcome) {
        let ConditionOutcomes(outcomes) = request.state.get_or_default();
        match outcomes.iter_mut().find(|(id, _)| *id == self.id) {
            Some((_, last)) => *last = outcome,
            None => outcomes.push((self.id, outcome)),
        }
    }

    /// The last outcome; `None` if the condition was not evaluated.
    pub fn outcome(&self, request: &RequestView) -> Option<ConditionOutcome> {
        let ConditionOutcomes(outcomes) = request.state.get()?;
        let known = outcomes.iter().find(|(id, _)| *id == self.id);
        known.map(|(_, outcome)| outcome.clone())
    }

    /// Whether the filter runs; `false` if the condition was not evaluated.
    pub fn runs(&self, request: &RequestView) -> bool {
        let outcomes: Option<&ConditionOutcomes> = request.state.get();
        outcomes.is_some_and(|ConditionOutcomes(outcomes)| {
            outcomes
                .iter()
                .any(|(id, last)| *id == self.id && last.runs)
        })
    }
}
