//! The images protocol: edits in JSON or as a form; responses whole or as a stream of partial images.

mod edit_request;
mod edited;
pub mod png;

pub use edit_request::ImageEditRequest;
pub use edited::ImageEditResult;

use super::api_error::ApiError;
use super::endpoint_result::SuccessfulResponse;
use super::json::object;
use super::request_context::RequestContext;
use super::{clock, media};
use edited::ImagePayload;
use serde_json::Value;

/// The maximum number of images per request.
const MAX_IMAGES: u64 = 10;
const MAX_PARTIAL_IMAGES: u64 = 3;

/// Responds to an edit request.
///
/// # Errors
/// `400` for what the real provider refuses, `404` for files that the account does not have.
pub fn edit(call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    let request = ImageEditRequest::read(call.head, call.raw)?;
    request.check(call)?;
    call.resources.check_named(call.account, request.json())?;
    result("image_edit", &request, call)
}

/// Responds to a form with one image with variations of it, which have no usage.
///
/// # Errors
/// `400` for what the real provider refuses.
pub fn vary(call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    let request = ImageEditRequest::read(call.head, call.raw)?;
    request.check_source()?;
    let count = request.number("n", 1, 1..=MAX_IMAGES)?;
    let size = png::ImageSize::parse(request.text("size")).unwrap_or(png::ImageSize::ORDINARY);
    let image = payload(&request, size, call);
    let image = match &image {
        ImagePayload::Url(url) => object! {"url": url},
        ImagePayload::Base64(base64) => object! {"b64_json": base64},
    };
    let data: Vec<_> = (0..count).map(|_| &image).collect();
    Ok(SuccessfulResponse::Whole(
        object! {"created": clock::unix_seconds(), "data": data},
    ))
}

/// Responds to a request for images of a text.
///
/// # Errors
/// `400` for what the real provider refuses.
pub fn generate(body: &Value, call: &RequestContext) -> Result<SuccessfulResponse, ApiError> {
    let request = ImageEditRequest::without_sources(body);
    request.check_fields(call)?;
    result("image_generation", &request, call)
}

/// An image as the request wants it.
fn payload(
    request: &ImageEditRequest,
    size: png::ImageSize,
    call: &RequestContext,
) -> ImagePayload {
    if request.text("response_format") != "url" {
        return ImagePayload::base64(&png::image(size, call.sizes.text.unwrap_or(0)));
    }
    let name = format!("{}.png", call.ids.next("img-"));
    ImagePayload::Url(media::url(
        call.head,
        &name,
        call.sizes.text,
        "st=2026-11-21&sig=simulated%3D",
    ))
}

fn result(
    event_prefix: &'static str,
    request: &ImageEditRequest,
    call: &RequestContext,
) -> Result<SuccessfulResponse, ApiError> {
    let count = request.number("n", 1, 1..=MAX_IMAGES)?;
    let partial_images = request.number("partial_images", 0, 0..=MAX_PARTIAL_IMAGES)?;
    let size = png::ImageSize::parse(request.text("size")).unwrap_or(png::ImageSize::ORDINARY);
    let form = payload(request, size, call);
    let edit = ImageEditResult {
        event_prefix,
        created: clock::unix_seconds(),
        form,
        count,
        partial_images,
        size: size.to_string(),
        quality: request.word_or("quality", "high"),
        background: match request.text("background") {
            "transparent" => "transparent",
            _ => "opaque",
        },
        output_format: request.word_or("output_format", "png"),
        usage: (!call.directives.no_usage).then(|| request.usage(size, count)),
    };
    Ok(if request.is_set("stream") {
        SuccessfulResponse::Stream(Box::new(edit))
    } else {
        SuccessfulResponse::Whole(edit.json())
    })
}
