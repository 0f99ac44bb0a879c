//! Calls the service: what its verdict, or a failed call, means for the request or response.

use super::CalloutFilter;
use super::service_payload::ServicePayload;
use super::service_reply::ServiceReply;
use headgate_core::callout::{CallFailure, CallOutcome, ServiceDenial, Verdict};
use headgate_core::filter::descriptor::ChainSide;
use headgate_core::filter::stream_info::CalloutSummary;
use headgate_core::request_id::RequestId;
use headgate_protocol::fault::{Fault, FaultKind};
use std::time::Instant;

/// The caller's message if the service has none.
const DENIED: &str = "this request was denied by a policy of the operator of this gateway";
const UNCHECKED: &str = "this request could not be checked by a service of this gateway; try again";

impl CalloutFilter {
    /// Calls the service. `None` if its response is not usable, and the settings let the request continue.
    ///
    /// # Errors
    /// The service denies, or its response is not usable.
    pub(super) async fn call<T: Send>(
        &self,
        summary: &mut CalloutSummary,
        id: &RequestId,
        payload: Result<ServicePayload, String>,
        accept: impl FnOnce(ServiceReply, &ServicePayload) -> Result<T, String> + Send,
    ) -> Result<Option<T>, Fault> {
        let may_deny = self.settings.allowed.deny;
        let began = Instant::now();
        let called = match payload {
            Ok(payload) => {
                let judge = |verdict: Verdict<ServiceReply>| match verdict {
                    Verdict::Deny(denial) if may_deny => Ok(Verdict::Deny(denial)),
                    Verdict::Deny(_) => {
                        Err("the service denies, which `allow` excludes".to_owned())
                    }
                    Verdict::Continue(reply) => accept(reply, &payload).map(Verdict::Continue),
                };
                let question = ServiceReply::question(self.settings.sent.format, id, &payload);
                self.service.call(question, judge).await
            }
            Err(reason) => {
                self.service.record_unsent();
                Err(CallFailure::new(CallOutcome::NotSent, reason))
            }
        };
        summary.note(CallOutcome::from_result(&called), began.elapsed());
        match called {
            Ok(Verdict::Continue(accepted)) => Ok(Some(accepted)),
            Ok(Verdict::Deny(denial)) => Err(self.denied(denial)),
            Err(failed) => {
                self.failed(id, &failed)?;
                summary.is_response_unchecked |= self.side == ChainSide::Response;
                Ok(None)
            }
        }
    }

    fn denied(&self, denial: ServiceDenial) -> Fault {
        let ServiceDenial { status, message } = denial;
        let message = message.unwrap_or_else(|| DENIED.into());
        Fault::new(FaultKind::Denied(status), message)
            .detail(format!("denied by service `{}`", self.service.name))
    }

    /// The fault of a request of which more would be sent to the service than its settings allow.
    fn too_large(&self) -> Fault {
        let sent = &self.settings.sent;
        let is_whole =
            sent.is_whole_request || sent.fields.iter().all(|pointer| pointer.is_empty());
        let fields = match is_whole {
            true => "the request body".to_owned(),
            false => format!("what the request has in `{}`", sent.fields.join("`, `")),
        };
        let limit = sent.bytes_max;
        Fault::new(
            FaultKind::TooLarge,
            format!(
                "{fields} exceeds the limit of {limit} bytes, up to which this gateway can check it; send a smaller body"
            ),
        )
    }

    fn failed(&self, id: &str, failed: &CallFailure) -> Result<(), Fault> {
        let CallFailure {
            outcome, detail, ..
        } = failed;
        let service = &*self.service.name;
        let outcome = outcome.name();
        // A caller must not choose by the size of its request whether it is checked.
        if self.side == ChainSide::Request && failed.outcome == CallOutcome::NotSent {
            return Err(self
                .too_large()
                .detail(format!("service `{service}`: {detail}")));
        }
        match self.settings.on_failure.allows(failed) {
            true => {
                let error = detail;
                tracing::info!(service, id, outcome, error, "callout failed; continuing");
                Ok(())
            }
            false => Err(Fault::new(FaultKind::CheckUnavailable, UNCHECKED)
                .detail(format!("service `{service}`: {outcome}: {detail}"))),
        }
    }
}
