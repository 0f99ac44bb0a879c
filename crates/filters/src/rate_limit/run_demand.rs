//! What a request needs of its run: the most tokens that it can use, and what identifies it among equal requests.

use super::run_name::NamedRun;
use crate::length_prefixed_hasher::LengthPrefixedHasher;
use headgate_core::catalog::caller::Caller;
use headgate_core::catalog::endpoint::ProviderOperationClass;
use headgate_core::catalog::run_limits::RunLimits;
use headgate_core::catalog::text_work::IMAGE_TOKENS;
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::state::RequestTokenCount;
use headgate_core::filter::view::RequestView;
use headgate_core::state::calendar::whole_ms;
use headgate_core::state::run::{RunDemand, RunKey};
use headgate_protocol::hex::HexDisplay;
use headgate_protocol::token_maximum::TokenMaximum;
use std::num::NonZeroU64;

/// The bytes of a digest that tell requests of one run apart.
const FINGERPRINT_BYTES: usize = 16;

/// What the request needs of the run; `cost` is the most that it can cost, in billionths.
pub fn run_demand(
    request: &RequestView,
    (caller, rules): (&Caller, &RunLimits),
    named: NamedRun,
    default_output_tokens: u64,
    cost: Option<u64>,
) -> RunDemand {
    RunDemand {
        key: RunKey {
            caller: caller.name.clone(),
            name: named.name,
        },
        caps: rules.caps,
        tightened: named.tightened,
        calls: 1,
        fingerprint: fingerprint(request),
        tokens: tokens_maximum(request, default_output_tokens),
        cost,
        idle_ms: whole_ms(rules.idle()),
        live_max: rules.live(),
    }
}

/// The most tokens that the request can use; `default_output_tokens` are those of its output if nothing limits it.
fn tokens_maximum(request: &RequestView, default_output_tokens: u64) -> u64 {
    if let Some(RequestTokenCount(tokens)) = request.state.get() {
        return *tokens;
    }
    let class = ProviderOperationClass::for_request(&request.method, request.endpoint_path(), true);
    let (Some(protocol), Some(body)) = (request.protocol, request.body.document()) else {
        return 0;
    };
    if class != ProviderOperationClass::Generation {
        return 0;
    }
    let descriptor = protocol.descriptor();
    let tokens = TokenMaximum::from_body(body, descriptor.conversation.as_ref(), IMAGE_TOKENS);
    let properties = request.model().map(|model| &model.properties);
    let window = properties.and_then(|properties| properties.context_window);
    let model_max = properties.and_then(|it| it.translation.max_output_tokens);
    let input = tokens.input_within(window.map(NonZeroU64::get));
    let output = match descriptor.has_output_tokens() {
        true => {
            let limit = tokens.output_within(model_max.map(NonZeroU64::get));
            limit.unwrap_or_else(|| default_output_tokens.saturating_mul(tokens.choices))
        }
        false => 0,
    };
    input.saturating_add(output)
}

/// Identifies what would be sent: its endpoint, its model, and its body with the edits of filters. Headers are not a part of
/// it, as SDKs number their retries there.
fn fingerprint(request: &RequestView) -> Option<String> {
    let mut digest = LengthPrefixedHasher::default();
    digest.text(request.method.as_str());
    digest.text(request.upstream_path.as_deref().unwrap_or(&request.path));
    digest.optional(request.query.as_deref().map(str::as_bytes));
    digest.optional(request.model().map(|model| model.name.as_bytes()));
    match &*request.body {
        RequestBody::Absent => digest.number(0),
        // The delimiter of its parts is a new one for each form.
        RequestBody::Form { form, .. } => {
            for part in form.parts() {
                digest.text(&part.name);
                digest.optional(part.file_name.as_deref().map(str::as_bytes));
                digest.field(&form.body()[part.value.clone()]);
            }
        }
        RequestBody::Json(_) | RequestBody::Opaque(_) => digest.field(request.body.bytes()?),
        RequestBody::Streamed(_) => return None,
    }
    digest.edits(&request.edits);
    Some(HexDisplay(&digest.finish()[..FINGERPRINT_BYTES]).to_string())
}
