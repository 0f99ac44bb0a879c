//! `edit_json`: edits the JSON body of requests or responses by JSON pointers.

use super::edit_list::{EditFailure, EditList, EditListConfig};
use bytes::Bytes;
use headgate_core::filter::body_edit::{CheckedBodyEditor, edited_document};
use headgate_core::filter::descriptor::{
    BuildContext, ChainSide, ConditionSupport, FilterChainRules, FilterDescriptor,
    FilterPrerequisite, InvalidSettings, read_settings, settings_schema,
};
use headgate_core::filter::expression::{
    ExchangeValues, FilterExpression, RequiredValueNames, evaluation_fault,
};
use headgate_core::filter::response_inputs::ResponseVaryInputs;
use headgate_core::filter::view::{AttemptView, RequestView, ResponseView};
use headgate_core::filter::{Filter, FilterDeclaration, HookResult, ResponseBodyAccess};
use headgate_expression::EvaluationPhase;
use headgate_protocol::Protocol;
use headgate_protocol::fault::Fault;
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "edit_json",
    summary: "Edits the JSON body of requests, or of responses that are not streamed: `rename`, `remove`, `set`, `default`, `prepend` and `append` by JSON pointers. All other bytes stay as they are.",
    side: ChainSide::Either,
    placement: FilterChainRules {
        before: &["callbacks", "copy_files", "force_usage", "store_media"],
        needs: &[FilterPrerequisite::Body],
        reason: ", which changes the body that it reads",
        condition: ConditionSupport::AttemptOrBody,
        ..FilterChainRules::ANYWHERE
    },
    settings: Some(settings_schema::<EditListConfig>),
    bare: false,
    build,
};

/// Members that the gateway reads before it tries a channel, so that an edit for one attempt would come too late.
const READ_BEFORE_ATTEMPTS: &[&str] = &[
    "background",
    "container",
    "conversation",
    "model",
    "n",
    "previous_response_id",
    "store",
    "stream",
];

struct EditJsonFilter {
    edits: EditList,
    target: EditTarget,
    /// Whether the edits may change the model of a request.
    changes_model: bool,
}

/// The body that is edited.
enum EditTarget {
    /// Of the request, before a channel is tried.
    Request(CheckedBodyEditor),
    /// Of the request of each attempt.
    Attempt,
    Response,
}

impl Filter for EditJsonFilter {
    fn declare(&self) -> FilterDeclaration {
        let is_response = matches!(self.target, EditTarget::Response);
        let reads_request = |expression: &FilterExpression| expression.reads_request_body();
        FilterDeclaration {
            ignores_body: is_response,
            reads_body: is_response && self.edits.expressions().any(reads_request),
            changes_model: self.changes_model,
            value_names: match self.target {
                EditTarget::Request(_) => {
                    RequiredValueNames::from_expressions(self.edits.expressions())
                }
                EditTarget::Attempt | EditTarget::Response => RequiredValueNames::default(),
            },
            response_body: match is_response {
                true => ResponseBodyAccess::Replace,
                false => ResponseBodyAccess::None,
            },
            ..FilterDeclaration::default()
        }
    }

    fn add_response_inputs(&self, inputs: &mut ResponseVaryInputs) {
        if !matches!(self.target, EditTarget::Request(_)) {
            let expressions = self.edits.expressions();
            expressions.for_each(|expression| inputs.add_references(expression.references()));
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match &self.target {
            EditTarget::Request(editor) => HookResult::from(self.edit_request(request, editor)),
            EditTarget::Attempt | EditTarget::Response => HookResult::next(),
        }
    }

    fn on_attempt<'a>(
        &'a self,
        request: &'a RequestView,
        attempt: &'a mut AttemptView,
    ) -> HookResult<'a, ()> {
        match self.target {
            EditTarget::Attempt => HookResult::from(self.edit_attempt(request, attempt)),
            EditTarget::Request(_) | EditTarget::Response => HookResult::done(),
        }
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        match self.target {
            EditTarget::Response => HookResult::from(self.edit_response(response, body)),
            EditTarget::Request(_) | EditTarget::Attempt => HookResult::done(),
        }
    }
}

impl EditJsonFilter {
    fn edit_request(
        &self,
        request: &mut RequestView,
        editor: &CheckedBodyEditor,
    ) -> Result<(), Fault> {
        let Some(document) = request.editable_body()? else {
            return Ok(());
        };
        let mut edits = request.edits.clone();
        let values = ExchangeValues::for_request(request);
        let applied = self.edits.apply(document, &mut edits, values);
        applied.map_err(edit_fault)?;
        if !edits.is_empty() {
            let edited = edited_document(document.body(), &edits, request.body_limit)?;
            let checked = editor.check(request, edited)?;
            request.replace_body(checked);
        }
        Ok(())
    }

    fn edit_attempt(&self, request: &RequestView, attempt: &mut AttemptView) -> Result<(), Fault> {
        let Some(document) = request.editable_body()? else {
            return Ok(());
        };
        let mut edits = attempt.edits.clone();
        let values = ExchangeValues::for_attempt(request, attempt);
        let applied = self.edits.apply(document, &mut edits, values);
        applied.map_err(edit_fault)?;
        attempt.edits = edits;
        attempt.edited_by = Some(DESCRIPTOR.name);
        Ok(())
    }

    /// Edits a response as far as possible: it may have been paid for.
    fn edit_response(
        &self,
        response: &mut ResponseView<'_>,
        body: &mut Bytes,
    ) -> Result<(), Fault> {
        if !body.trim_ascii_start().starts_with(b"{") && !body.trim_ascii_start().starts_with(b"[")
        {
            return Ok(());
        }
        let id = &*response.request.id;
        let document = match JsonDocument::parse(body.clone(), &JsonLimits::default()) {
            Ok(document) => document,
            Err(error) => {
                tracing::warn!(id, %error, "response is not strict JSON and is not edited");
                return Ok(());
            }
        };
        let mut edits = JsonEdits::default();
        let values = ExchangeValues::for_response(response).with_response_body(&document);
        let applied = self
            .edits
            .apply_where_possible(&document, &mut edits, values);
        if let Some(value) = applied.map_err(edit_fault)? {
            let (at, reason) = (value.path, value.message);
            tracing::warn!(id, at, reason, "response has no place for an edit");
        }
        if !edits.is_empty() {
            *body = edits.apply(body).to_bytes();
        }
        Ok(())
    }
}

fn edit_fault(failure: EditFailure) -> Fault {
    match failure {
        EditFailure::Computation(pointer, error) => {
            evaluation_fault(&format!("`{}` at {pointer}", DESCRIPTOR.name), &error)
        }
        EditFailure::Unsuitable(value) => value.into_fault(),
    }
}

fn build(
    settings: &serde_json::Value,
    context: &BuildContext<'_>,
) -> Result<Arc<dyn Filter>, InvalidSettings> {
    let config: EditListConfig = read_settings(settings)?;
    let is_response = context.side == ChainSide::Response;
    let edits = config.build(match is_response {
        true => EvaluationPhase::ResponseBody,
        false => EvaluationPhase::Attempt,
    })?;
    if edits.is_empty() {
        let hint = "add `set`, `default`, `remove`, `rename`, `prepend` or `append`";
        return Err(InvalidSettings::new("has no edits").hint(hint));
    }
    let phase = edits.phase().max(context.condition_phase);
    let target = match (is_response, phase) {
        (true, _) => EditTarget::Response,
        (false, EvaluationPhase::Head | EvaluationPhase::Body) => {
            EditTarget::Request(context.body_editor(DESCRIPTOR.name))
        }
        (false, _) => EditTarget::Attempt,
    };
    if matches!(target, EditTarget::Attempt) {
        check_attempt(&edits, context.protocol)?;
    }
    Ok(Arc::new(EditJsonFilter {
        changes_model: !is_response && edits.members().any(|(name, _)| name == "model"),
        edits,
        target,
    }))
}

/// Refuses edits for single attempts that the gateway could not follow.
fn check_attempt(edits: &EditList, protocol: Option<Protocol>) -> Result<(), InvalidSettings> {
    if protocol.is_some_and(Protocol::creates_paid_work) {
        let reason = "names of the attempt are not known when a request of this route is edited";
        return Err(InvalidSettings::new(reason).hint("use names of the request only"));
    }
    let mut members = edits.members();
    let Some((name, pointer)) = members.find(|(name, _)| READ_BEFORE_ATTEMPTS.contains(name))
    else {
        return Ok(());
    };
    let reason = format!(
        "`{}` changes `{name}`, which the gateway reads before it tries a channel, but the edit depends on the attempt",
        pointer.text()
    );
    Err(InvalidSettings::new(reason).hint("use names of the request only, in a step of its own"))
}
