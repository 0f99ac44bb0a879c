//! Subrequests that belong to an attempt, such as uploads before a create: they share its use of the channel.

use super::{BufferedResponse, ResponseBodyUse, prepare_subrequest};
use crate::Gateway;
use crate::upstream::ChannelWithCredential;
use headgate_channel::outcome::AttemptOutcome;
use headgate_channel::retry_policy::SendProgress;
use headgate_core::catalog::channel::{Channel, TimeoutOverrides};
use headgate_core::subrequest::{Subrequest, SubrequestResponse};
use headgate_protocol::error_class::ErrorSubject;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::header_policy;
use headgate_protocol::redact::redact;

impl Gateway {
    pub(super) async fn run_within_attempt(
        &self,
        subrequest: &Subrequest,
        timeouts: TimeoutOverrides,
    ) -> Result<SubrequestResponse, Fault> {
        let channel = &*subrequest.candidate.channel;
        let key = subrequest.candidate.key.unwrap_or(0);
        let target = ChannelWithCredential {
            channel,
            credential: channel.credentials.get(key),
        };
        if let Some(wait) = target.credential_wait() {
            wait.await;
        }
        let prepared = prepare_subrequest(target, subrequest, timeouts)?;
        let mut progress = SendProgress::default();
        let sent = self.upstream.send(target, &prepared, &mut progress).await;
        let response = match sent {
            Ok(response) => {
                let body_use = ResponseBodyUse::Collect;
                self.read_whole(response, body_use, subrequest).await
            }
            Err(error) => Err(error.fault),
        };
        match response {
            Ok(response) => self.evaluate_within_attempt(subrequest, channel, response),
            Err(fault) => {
                self.log_failure(subrequest, channel, None, fault.detail.as_deref());
                Err(fault)
            }
        }
    }

    fn evaluate_within_attempt(
        &self,
        subrequest: &Subrequest,
        channel: &Channel,
        response: BufferedResponse,
    ) -> Result<SubrequestResponse, Fault> {
        let BufferedResponse {
            status,
            headers,
            body,
            inline_file: _,
        } = response;
        if !status.is_success() {
            let code = status.as_u16();
            let class = channel
                .errors
                .classify_response(code, &body, ErrorSubject::Resource);
            let outcome = AttemptOutcome::from_error(class, status, None, None);
            let is_of_request = status.is_client_error() && outcome.failure_reason().is_none();
            if !is_of_request {
                self.log_failure(subrequest, channel, Some(code), None);
                let message = "the provider did not take a file of this request; try again";
                let fault = Fault::new(FaultKind::Upstream, message);
                return Err(fault.detail(format!("status {code} of {}", subrequest.path)));
            }
        }
        Ok(SubrequestResponse {
            inline_file: None,
            status,
            headers: header_policy::response_headers_for_caller(&headers, &channel.mask.current()),
            body: match status.is_success() {
                true => body,
                false => redact(&body, &[]).into_owned().into(),
            },
        })
    }

    fn log_failure(
        &self,
        subrequest: &Subrequest,
        channel: &Channel,
        status: Option<u16>,
        detail: Option<&str>,
    ) {
        tracing::info!(
            channel = &*channel.name,
            credential = subrequest.candidate.key.map(|key| key + 1),
            id = &*subrequest.id,
            path = subrequest.path,
            status,
            detail,
            "upload failed"
        );
    }
}
