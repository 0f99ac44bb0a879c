//! The upload of a file for a batch: its lines are checked, and the file is known by its id afterwards.

use super::CheckBatchFilter;
use crate::check_queue::CheckAudience;
use crate::checked_batch::CheckedBatch;
use crate::file_record::BatchFileRecord;
use crate::requests::check_file;
use crate::rules::BatchRules;
use bytes::Bytes;
use headgate_core::catalog::caller::Caller;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{FilterAction, HookResult};
use headgate_protocol::batch::{FILE, PURPOSE};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::form::{FormPart, MultipartForm};
use headgate_protocol::ids;
use headgate_protocol::json::edit::JsonEdits;
use std::ops::Range;

/// Whether the request uploads a file for a batch, to any parser of its form.
pub(super) fn is_for_batch(request: &RequestView) -> bool {
    let (Some(body), Some(boundary)) = (request.body.bytes(), request.form_boundary()) else {
        return false;
    };
    let (name, value) = PURPOSE;
    let mut purposes = ids::form_values(body, boundary, name);
    purposes.any(|purpose| purpose.trim_ascii() == value.as_bytes())
}

impl CheckBatchFilter {
    pub(super) async fn check_upload(
        &self,
        request: &mut RequestView,
    ) -> Result<FilterAction, Fault> {
        let (Some(body), Some(boundary)) = (request.body.bytes(), request.form_boundary()) else {
            return Ok(FilterAction::Continue);
        };
        let (body, boundary) = (body.clone(), boundary.to_owned());
        let (rules, caller) = (self.rules.clone(), request.caller.clone());
        let name = caller.as_ref().map(|caller| caller.name.clone());
        let check = move |audience: &CheckAudience| {
            check_form(&rules, caller.as_deref(), &body, &boundary, audience)
        };
        let CheckedForm { batch, normalised } = self.checks.run(name.as_ref(), check).await?;
        for (range, plain) in normalised {
            request.edits.replace(range, plain);
        }
        self.accept(request, batch).await
    }

    /// Stores what is known of an uploaded file. If it cannot be stored, the file can be used for anything but a batch.
    pub(super) fn keep_file<'a>(
        &'a self,
        request: &'a RequestView,
        candidate: Option<&Candidate>,
        body: &'a Bytes,
    ) -> HookResult<'a, ()> {
        let (Some(batch), Some(candidate)) = (request.state.get::<CheckedBatch>(), candidate)
        else {
            return HookResult::done();
        };
        let (Some(caller), Some(id)) = (&request.caller, ids::made_in_body(body).own) else {
            return HookResult::done();
        };
        let (tokens, percent) = (self.counted_tokens(batch), self.rules.price_percent);
        let record = BatchFileRecord::new(batch, &candidate.channel, tokens, percent);
        HookResult::later(async move {
            let reason = match record.insert(&*self.state, &caller.name, &id).await {
                Ok(true) => return Ok(()),
                Ok(false) => "the caller has too many files".to_owned(),
                Err(unavailable) => unavailable.to_string(),
            };
            tracing::warn!(
                id = &*request.id,
                reason,
                "cannot store the file of a batch"
            );
            Ok(())
        })
    }
}

/// A form with the file of a batch.
struct CheckedForm {
    batch: CheckedBatch,
    /// Replacements of bytes of the form, by which every parser at the provider finds the file that was checked.
    normalised: Vec<(Range<usize>, Bytes)>,
}

fn check_form(
    rules: &BatchRules,
    caller: Option<&Caller>,
    body: &Bytes,
    boundary: &str,
    audience: &CheckAudience,
) -> Result<CheckedForm, Fault> {
    let form = MultipartForm::parse(body.clone(), boundary)?;
    let (name, _) = PURPOSE;
    only_part(&form, name)?;
    let file = form.value(only_part(&form, FILE)?);
    let mut batch = check_file(rules, caller, &file, audience)?;
    batch.shift(offset_in(body, &file));
    let mut edits = JsonEdits::default();
    form.normalise(&mut edits);
    let start = offset_in(body, form.body());
    let changes = edits.changes();
    let normalised = changes.map(|(range, plain)| (range.start + start..range.end + start, plain));
    Ok(CheckedForm {
        batch,
        normalised: normalised.collect(),
    })
}

/// The part of this name, of which the form has one.
fn only_part<'f>(form: &'f MultipartForm, name: &str) -> Result<&'f FormPart, Fault> {
    let mut parts = form.parts().iter().filter(|part| part.name == name);
    match (parts.next(), parts.next()) {
        (Some(part), None) => Ok(part),
        (None, _) => Err(Fault::new(
            FaultKind::Missing,
            format!("the form has no field `{name}`; a batch needs one"),
        )
        .param(name)),
        (Some(_), Some(_)) => Err(Fault::new(
            FaultKind::Invalid,
            format!("the form has the field `{name}` more than once; send it once"),
        )
        .param(name)),
    }
}

/// Where `piece` begins in `whole`, of which it is a slice.
fn offset_in(whole: &Bytes, piece: &Bytes) -> usize {
    piece.as_ptr().addr() - whole.as_ptr().addr()
}
