//! The create of a batch of a file: only of one that this caller uploaded, whose lines were checked then.

use super::{CheckBatchFilter, no_caller, store_fault};
use crate::file_record::BatchFileRecord;
use headgate_core::filter::FilterAction;
use headgate_core::filter::state::RequestTokenCount;
use headgate_core::filter::view::RequestView;
use headgate_protocol::batch::{ENDPOINT, INPUT_FILE};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::{DocumentNode, JsonDocument};
use std::borrow::Cow;

impl CheckBatchFilter {
    pub(super) async fn check_create(
        &self,
        request: &mut RequestView,
    ) -> Result<FilterAction, Fault> {
        let body = request.body.document();
        let body = body.map(JsonDocument::root).ok_or_else(no_object)?;
        let file = text(body, INPUT_FILE)?;
        let endpoint = text(body, ENDPOINT)?;
        let caller = request.caller.as_ref().ok_or_else(no_caller)?;
        let record = BatchFileRecord::find(&*self.state, &caller.name, &file).await;
        let record = record.map_err(store_fault)?.ok_or_else(unchecked_file)?;
        if *endpoint != *record.endpoint {
            let message = format!(
                "`{ENDPOINT}` must be `{}`, the `url` of the lines of the file",
                record.endpoint
            );
            return Err(Fault::new(FaultKind::Invalid, message).param(ENDPOINT));
        }
        let refused = record.models.iter();
        if let Some(model) = { refused }.find(|model| !caller.may_use_model(model)) {
            let message = format!(
                "the file has requests for model `{model}`, to which this API key has no access any more; ask the operator of this gateway for access"
            );
            return Err(Fault::new(FaultKind::Forbidden, message).param(INPUT_FILE));
        }
        request.state.set(record.demand(&self.rules.catalog));
        request.state.set(RequestTokenCount(record.tokens));
        request.state.set(record);
        Ok(FilterAction::Continue)
    }
}

/// Whether the edited body is for the file and the endpoint that were checked.
pub(super) fn is_of_same_file(request: &RequestView, edited: &JsonDocument) -> bool {
    let Some(original) = request.body.document() else {
        return false;
    };
    [INPUT_FILE, ENDPOINT].iter().all(|name| {
        let [before, after] = [original, edited].map(|body| body.root().get(name));
        before.map(DocumentNode::raw) == after.map(DocumentNode::raw)
    })
}

fn text<'d>(body: DocumentNode<'d>, name: &str) -> Result<Cow<'d, str>, Fault> {
    let fault = |kind, message| Err(Fault::new(kind, message).param(name));
    if let Some(other) = body.key_in_other_case(name) {
        let message =
            format!("unknown field `{other}`; field names are case-sensitive, use `{name}`");
        return fault(FaultKind::Invalid, message);
    }
    let Some(value) = body.get(name) else {
        return fault(
            FaultKind::Missing,
            format!("missing required field `{name}`"),
        );
    };
    match value.as_str() {
        Some(text) if !text.is_empty() => Ok(text),
        _ => {
            let received = value.type_name();
            let message = format!("`{name}` must be a string, received {received}");
            fault(FaultKind::Invalid, message)
        }
    }
}

fn no_object() -> Fault {
    Fault::new(FaultKind::Invalid, "the body must be a JSON object")
}

fn unchecked_file() -> Fault {
    Fault::new(
        FaultKind::Invalid,
        "this file was not uploaded for a batch, or longer ago than 30 days; upload it whole with `POST /v1/files` and `purpose` set to `batch`",
    )
    .param(INPUT_FILE)
}
