//! The create of a message batch, whose requests are in the body.

use super::CheckBatchFilter;
use crate::check_queue::CheckAudience;
use crate::requests::check_list;
use headgate_core::filter::FilterAction;
use headgate_core::filter::state::RequestTokenCount;
use headgate_core::filter::view::RequestView;
use headgate_protocol::batch::REQUESTS;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::ValueKind;

impl CheckBatchFilter {
    pub(super) async fn check_list(
        &self,
        request: &mut RequestView,
    ) -> Result<FilterAction, Fault> {
        let fault = |kind, message| Fault::new(kind, message).param(REQUESTS);
        let missing = || {
            fault(
                FaultKind::Missing,
                "missing required field `requests`".into(),
            )
        };
        let document = request.body.document().ok_or_else(missing)?;
        if let Some(other) = document.root().key_in_other_case(REQUESTS) {
            let message = format!(
                "unknown field `{other}`; field names are case-sensitive, use `{REQUESTS}`"
            );
            return Err(fault(FaultKind::Invalid, message));
        }
        let list = document.root().get(REQUESTS).ok_or_else(missing)?;
        if list.kind() != ValueKind::Array {
            let message = format!(
                "`{REQUESTS}` must be an array, received {}",
                list.type_name()
            );
            return Err(fault(FaultKind::Invalid, message));
        }
        let (body, span) = (document.body().clone(), list.span());
        let (rules, caller) = (self.rules.clone(), request.caller.clone());
        let name = caller.as_ref().map(|caller| caller.name.clone());
        let check = move |audience: &CheckAudience| {
            check_list(&rules, caller.as_deref(), &body, span, audience)
        };
        let batch = self.checks.run(name.as_ref(), check).await?;
        let demand = batch.demand(self.rules.price_percent, REQUESTS);
        request.state.set(demand);
        request
            .state
            .set(RequestTokenCount(self.counted_tokens(&batch)));
        self.accept(request, batch).await
    }
}
