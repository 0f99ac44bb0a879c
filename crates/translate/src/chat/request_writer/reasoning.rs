//! Writes how much the model should think, in the form that the provider has for it.

use crate::dialect::{ChatReasoning, MemberPlace};
use crate::json_writer::JsonWriter;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::{ReasoningEffort, Request};
use headgate_protocol::json::DocumentNode;
use std::borrow::Cow;

/// What a request asks for.
#[derive(Clone, Copy)]
struct ReasoningRequest<'a> {
    effort: Option<ReasoningEffort>,
    /// Where the caller has the effort.
    effort_at: Option<DocumentNode<'a>>,
    budget: Option<DocumentNode<'a>>,
    is_enabled: Option<bool>,
}

/// Writes what a request asks for; `without_thoughts` is whether the model must not think, whatever the request asks for.
///
/// Thoughts without an effort or a budget are the provider's default. `none` is not sent in place of thoughts that are off:
/// models without thoughts refuse it.
pub(super) fn write_reasoning(
    request: &Request<'_>,
    dialect: &ChatReasoning,
    without_thoughts: bool,
    json: &mut JsonWriter,
    ledger: &mut Ledger,
) {
    let asked = ReasoningRequest::new(request);
    if without_thoughts {
        if let Some(off) = &dialect.off {
            off.write(&[], json);
        }
    } else if let Some(off) = dialect.off.as_ref().filter(|_| asked.is_off()) {
        off.write(&[], json);
    } else {
        if asked.is_enabled == Some(false)
            && let Some(thinking) = request.body.get("thinking")
        {
            let reason = "leaves to the model how much it thinks: not all models of the chat protocol know the effort `none`";
            ledger.add(thinking, FieldOutcome::Approximated, reason);
        }
        if asked.is_on() || asked.effort.is_some() {
            asked.write_amount(dialect, json, ledger);
        }
    }
}

impl<'a> ReasoningRequest<'a> {
    fn new(request: &'a Request<'_>) -> Self {
        let reasoning = &request.reasoning;
        let body = request.body;
        let effort_at = body
            .pointer("/output_config/effort")
            .or_else(|| body.pointer("/reasoning/effort"))
            .or_else(|| body.get("reasoning_effort"));
        Self {
            effort: reasoning.effort,
            effort_at,
            budget: reasoning
                .budget
                .filter(|_| reasoning.is_enabled == Some(true)),
            is_enabled: reasoning.is_enabled,
        }
    }

    fn is_off(&self) -> bool {
        self.is_enabled == Some(false) || self.effort == Some(ReasoningEffort::None)
    }

    fn is_on(&self) -> bool {
        self.is_enabled == Some(true) || self.effort.is_some_and(|it| it != ReasoningEffort::None)
    }

    /// Writes an effort or a budget, whichever the provider has.
    fn write_amount(&self, dialect: &ChatReasoning, json: &mut JsonWriter, ledger: &mut Ledger) {
        let by_budget = || Some(ReasoningEffort::for_budget(self.budget?.as_u64()?));
        let effort = self.effort.or_else(by_budget);
        let mut added: Option<(&MemberPlace, Cow<'_, str>)> = None;
        if let (Some(place), Some(budget), None) = (&dialect.budget, self.budget, self.effort) {
            added = Some((place, String::from_utf8_lossy(budget.raw())));
        } else if let (Some(place), Some(effort)) = (&dialect.effort, effort) {
            added = Some((place, self.sent_effort(effort, dialect, ledger)));
        } else if let (Some(place), Some(effort)) = (&dialect.budget, effort)
            && let Some(tokens) = dialect.budgets.get(effort)
        {
            self.note_effort("becomes a budget of tokens", ledger);
            added = Some((place, tokens.to_string().into()));
        } else {
            self.note_left_out(dialect, ledger);
        }
        let added = added.as_ref().map(|(place, text)| (*place, &**text));
        match self.is_on() {
            true => dialect.on.write(added.as_slice(), json),
            false => dialect.write_alone(added.as_slice(), json),
        }
    }

    /// The effort as the provider has it, as JSON text.
    fn sent_effort(
        &self,
        effort: ReasoningEffort,
        dialect: &ChatReasoning,
        ledger: &mut Ledger,
    ) -> Cow<'static, str> {
        if let Some(budget) = self.budget {
            let reason = match self.effort {
                None => "becomes the nearest effort",
                Some(_) => "is left out beside the effort",
            };
            ledger.add(budget, FieldOutcome::Approximated, reason);
        }
        let word = dialect.efforts.word(effort);
        if word != effort.name() && self.effort.is_some() {
            self.note_effort(format!("becomes `{word}`"), ledger);
        }
        serde_json::Value::from(word).to_string().into()
    }

    fn note_effort(&self, reason: impl Into<Cow<'static, str>>, ledger: &mut Ledger) {
        if let Some(at) = self.effort_at {
            ledger.add(at, FieldOutcome::Approximated, reason);
        }
    }

    fn note_left_out(&self, dialect: &ChatReasoning, ledger: &mut Ledger) {
        let reason = match dialect.on.0.is_empty() {
            true => "is left to the model, whose provider has no way to ask for it",
            false => "is left to the model, which only thinks or does not",
        };
        if self.effort.is_some() {
            self.note_effort(reason, ledger);
        }
        if let Some(budget) = self.budget {
            ledger.add(budget, FieldOutcome::Approximated, reason);
        }
    }
}
