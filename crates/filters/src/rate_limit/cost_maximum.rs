//! The most that a request can cost: on the dearest of its channels, by what its body asks for.

use super::batch_costs::{batch_maximum, batch_maximum_on};
use super::priced_maximum::CostMaximum;
use headgate_core::catalog::endpoint::ProviderOperationClass;
use headgate_core::catalog::model::{Candidate, Model};
use headgate_core::catalog::price::ModelPrice;
use headgate_core::catalog::price_maximum::{UnboundedCost, VideoMaximum, WorkMaximum};
use headgate_core::filter::body::RequestBody;
use headgate_core::filter::view::RequestView;
use headgate_core::task::family::RequestedVideo;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::form::FormPart;
use headgate_protocol::json::{JsonDocument, ValueKind};
use headgate_protocol::{GenerationMedium, Protocol};

/// The fewest bytes of a second of sound: 4 kbit/s, below the lowest rates of AMR and Opus.
const SOUND_BYTES_PER_SECOND: u64 = 500;

/// Fields of forms that have providers fetch the sound.
const SOUND_PLACES: [&str; 4] = ["url", "file_url", "audio_url", "file_id"];
/// Members with the duration of a video.
const DURATIONS: [&str; 3] = ["/duration", "/seconds", "/parameters/duration"];

/// The bound of a request; `None` if nothing of it has a price: it names no model, or generates nothing.
///
/// # Errors
/// Nothing limits what it can cost.
pub fn cost_maximum(request: &RequestView) -> Result<Option<CostMaximum>, Fault> {
    if let Some(batch) = request.state.get() {
        return batch_maximum(request, batch);
    }
    let Some(destination) = request.destination.as_ref().filter(|_| generates(request)) else {
        return Ok(None);
    };
    let mut most: Option<CostMaximum> = None;
    for candidate in destination.candidates.iter() {
        let bound = priced_bound(request, request.body.document(), candidate)?;
        most = match (most, bound) {
            (Some(most), Some(bound)) if most.nanos < bound.nanos => Some(bound),
            (most, bound) => most.or(bound),
        };
    }
    Ok(most)
}

/// The bound of an attempt with this body; on a channel without prices by those of `otherwise`.
///
/// # Errors
/// Nothing limits what it can cost.
pub fn attempt_maximum(
    request: &RequestView,
    body: Option<&JsonDocument>,
    candidate: &Candidate,
    otherwise: &ModelPrice,
) -> Result<u64, Fault> {
    let (Some(model), Some(protocol)) = (request.model(), request.protocol) else {
        return Ok(0);
    };
    let price = candidate.price().filter(|price| price.is_priced());
    let price = price.unwrap_or(otherwise);
    candidate_bound((request, body), protocol, model, candidate, price)
}

/// What an attempt with this body can cost on its channel, if that has prices and the request generates something.
///
/// # Errors
/// Nothing limits what it can cost.
pub fn attempt_bound(
    request: &RequestView,
    body: Option<&JsonDocument>,
    candidate: &Candidate,
) -> Result<Option<CostMaximum>, Fault> {
    if let Some(batch) = request.state.get() {
        return batch_maximum_on(batch, &candidate.channel);
    }
    match generates(request) {
        true => priced_bound(request, body, candidate),
        false => Ok(None),
    }
}

/// Whether the request has a provider generate something, for which alone there are prices.
fn generates(request: &RequestView) -> bool {
    let class = ProviderOperationClass::for_request(&request.method, request.endpoint_path(), true);
    class == ProviderOperationClass::Generation
}

/// What the request can cost on a channel; `None` if that has no prices, or the request names no model.
fn priced_bound(
    request: &RequestView,
    body: Option<&JsonDocument>,
    candidate: &Candidate,
) -> Result<Option<CostMaximum>, Fault> {
    let (Some(model), Some(protocol)) = (request.model(), request.protocol) else {
        return Ok(None);
    };
    let channel_model = candidate.model.as_ref();
    let price = channel_model.and_then(|model| model.price.as_ref());
    let Some(price) = price.filter(|price| price.is_priced()) else {
        return Ok(None);
    };
    let nanos = candidate_bound((request, body), protocol, model, candidate, price)?;
    let price = price.clone();
    Ok(Some(CostMaximum { nanos, price }))
}

fn candidate_bound(
    (request, body): (&RequestView, Option<&JsonDocument>),
    protocol: Protocol,
    model: &Model,
    candidate: &Candidate,
    price: &ModelPrice,
) -> Result<u64, Fault> {
    let work = work_bound((request, body), protocol, model, candidate);
    price.bound(&work).map_err(|unbounded| {
        let (field, message) = match unbounded {
            UnboundedCost::OutputTokens => {
                let limits = protocol.descriptor().conversation.as_ref();
                let field = limits.and_then(|shape| shape.output_limits.first().copied());
                let field = field.unwrap_or("max_tokens");
                (field, format!("set `{field}` to an integer of at least 1: this API key has a budget in money, and nothing else limits the output of model `{}`", model.name))
            }
            UnboundedCost::Video => (
                "duration",
                format!("set `duration` to a number of seconds and a resolution that has a price: this API key has a budget in money, and nothing else limits what a video of model `{}` costs", model.name),
            ),
            UnboundedCost::Audio => (
                "file",
                "upload the sound as `file`, without a URL or an id of another one: this API key has a budget in money, and nothing else limits the length of the audio".to_owned(),
            ),
        };
        Fault::new(FaultKind::Invalid, message).param(field)
    })
}

fn work_bound(
    (request, body): (&RequestView, Option<&JsonDocument>),
    protocol: Protocol,
    model: &Model,
    candidate: &Candidate,
) -> WorkMaximum {
    let descriptor = protocol.descriptor();
    let sound_bytes = match descriptor.medium {
        GenerationMedium::Transcript => sound_bytes(&request.body),
        _ => Some(0),
    };
    let sound_ms = |bytes: u64| bytes.saturating_mul(1000) / SOUND_BYTES_PER_SECOND;
    let Some(body) = body else {
        let bytes = request.body.len() as u64;
        return WorkMaximum {
            input_tokens: bytes,
            audio_ms: sound_ms(bytes),
            ..WorkMaximum::default()
        };
    };
    let text = WorkMaximum::from_body(body, protocol, model);
    WorkMaximum {
        input_tokens: text.input_tokens.saturating_add(sound_bytes.unwrap_or(0)),
        audio_ms: sound_ms(sound_bytes.unwrap_or(0)),
        has_distant_audio: sound_bytes.is_none(),
        video: match descriptor.medium {
            GenerationMedium::Video => Some(requested_video(body, protocol, candidate)),
            _ => None,
        },
        ..text
    }
}

/// The bytes of the sound in a request for a transcript; `None` if the provider gets it, or more of it, from elsewhere.
fn sound_bytes(body: &RequestBody) -> Option<u64> {
    let RequestBody::Form { form, .. } = body else {
        return None;
    };
    let parts = || form.parts().iter();
    let is_elsewhere = |part: &FormPart| SOUND_PLACES.contains(&&*part.name);
    let files = parts().filter(|part| part.is_file());
    let bytes = files.map(|part| part.value.len() as u64).sum();
    (bytes > 0 && !parts().any(is_elsewhere)).then_some(bytes)
}

/// The video of a create; on a channel of no family, nothing of it is known.
fn requested_video(body: &JsonDocument, protocol: Protocol, candidate: &Candidate) -> VideoMaximum {
    let Some(family) = candidate.channel.family.as_ref() else {
        return VideoMaximum {
            requested: RequestedVideo::default(),
            may_have_other_resolution: true,
            has_open_duration: false,
        };
    };
    let model = candidate.model.as_ref().map_or("", |model| &*model.name);
    let is_generic = protocol
        .descriptor()
        .tasks
        .is_none_or(|format| format.is_generic());
    let requested = family.requested_video(body, model, is_generic);
    let resolution = requested.resolution.as_deref();
    let near = resolution.and_then(|wanted| family.near_resolution(wanted, model));
    let root = body.root();
    let mut durations = DURATIONS.iter().filter_map(|place| root.pointer(place));
    VideoMaximum {
        may_have_other_resolution: near.is_some(),
        has_open_duration: requested.duration_ms.is_none()
            && durations.any(|duration| duration.kind() != ValueKind::Null),
        requested,
    }
}
