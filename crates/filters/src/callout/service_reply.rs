//! What a service returns, in each format.

use super::litellm::reply::GuardrailReply;
use super::payload_selection::PayloadFormat;
use super::proposed_changes::ProposedChanges;
use super::service_payload::ServicePayload;
use headgate_core::callout::{ServiceQuestion, ServiceResponse, Verdict};
use headgate_core::request_id::RequestId;
use http::StatusCode;

/// Largest response that is read, in bytes, beside the texts that it repeats.
const RESPONSE_BYTES_MAX: usize = 64 << 10;

/// What a service returns of a request or response that continues.
#[derive(Debug)]
pub enum ServiceReply {
    Changes(ProposedChanges),
    Guardrail(GuardrailReply),
}

impl ServiceReply {
    /// Asks for a decision about this payload.
    pub fn question<'q>(
        format: PayloadFormat,
        id: &'q RequestId,
        payload: &ServicePayload,
    ) -> ServiceQuestion<'q, Self> {
        let repeated_bytes = match format {
            PayloadFormat::Headgate => 0,
            PayloadFormat::Litellm => 2 * payload.json.len(),
        };
        ServiceQuestion {
            id,
            body: payload.json.clone(),
            response_bytes_max: RESPONSE_BYTES_MAX + repeated_bytes,
            read: match format {
                PayloadFormat::Headgate => read_changes,
                PayloadFormat::Litellm => read_guardrail,
            },
        }
    }

    /// # Errors
    /// It changes a stream, which can be continued or ended.
    pub fn check_unchanged(self, sent: &ServicePayload) -> Result<(), String> {
        let is_unchanged = match self {
            Self::Changes(proposed) => proposed == ProposedChanges::default(),
            Self::Guardrail(reply) => reply.changed_texts(sent)?.is_empty(),
        };
        match is_unchanged {
            true => Ok(()),
            false => Err("the response changes a stream, which is not possible".into()),
        }
    }
}

fn read_changes(response: ServiceResponse) -> Result<Verdict<ServiceReply>, String> {
    match response {
        ServiceResponse { status, .. } if status != StatusCode::OK => Err(unusable(status)),
        ServiceResponse { is_json: false, .. } => {
            Err("the response is not application/json".to_owned())
        }
        ServiceResponse { body, .. } => {
            let verdict = ProposedChanges::verdict(body)?;
            Ok(with_reply(verdict, ServiceReply::Changes))
        }
    }
}

/// Services of this format need no other status than a success, and no content type.
fn read_guardrail(response: ServiceResponse) -> Result<Verdict<ServiceReply>, String> {
    match response {
        ServiceResponse { status, .. } if !status.is_success() => Err(unusable(status)),
        ServiceResponse { body, .. } => {
            let verdict = GuardrailReply::verdict(body)?;
            Ok(with_reply(verdict, ServiceReply::Guardrail))
        }
    }
}

fn unusable(status: StatusCode) -> String {
    format!("the service responded with status {status}")
}

fn with_reply<T>(verdict: Verdict<T>, reply: fn(T) -> ServiceReply) -> Verdict<ServiceReply> {
    match verdict {
        Verdict::Continue(content) => Verdict::Continue(reply(content)),
        Verdict::Deny(denial) => Verdict::Deny(denial),
    }
}
