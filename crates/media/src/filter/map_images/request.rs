//! Converts an image edit request to the format of its channel.

use super::request_urls::{RequestImageUrls, rewrite_heads, wants_urls};
use bytes::Bytes;
use headgate_core::catalog::images::{ImageEditBodyFormat, ResponseFormatHandling};
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::view::{AttemptView, RequestView};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::images;
use headgate_protocol::images::{
    EncodedForm, FileRepresentation, ImageRequestRewrite, RESPONSE_FORMAT, UnconvertibleField,
};
use http::{HeaderValue, header};

/// The conversion that a channel requires.
enum BodyConversion {
    Unchanged,
    Json,
    Multipart,
}

/// Keeps the candidates to whose format the request can be converted.
///
/// # Errors
/// No candidate is left; the error names the field that cannot be converted.
pub(super) fn retain_capable(request: &mut RequestView) -> Result<(), Fault> {
    let Some(destination) = &request.destination else {
        return Err(Fault::new(
            FaultKind::Internal,
            "internal error: no channel was selected for this request",
        )
        .detail("no filter before `map_images` found a channel"));
    };
    let mut able = Vec::new();
    let mut in_the_way = None;
    for candidate in destination.candidates.iter() {
        match check_convertible(request, candidate) {
            Ok(()) => able.push(candidate.clone()),
            Err(unfit) => in_the_way = Some(unfit),
        }
    }
    if let (true, Some(unfit)) = (able.is_empty(), in_the_way) {
        return Err(unfit.into());
    }
    if let Some(destination) = &mut request.destination {
        destination.candidates = able.into();
    }
    Ok(())
}

/// Converts the request for one attempt.
///
/// # Errors
/// An image in the request is not valid base64.
pub(super) fn convert_body(request: &RequestView, attempt: &mut AttemptView) -> Result<(), Fault> {
    let candidate = &attempt.candidate;
    let rewrite = ImageRequestRewrite {
        model: candidate.model.as_ref().map(|model| &*model.name),
        keep_response_format: candidate.channel.image_edits.response_format
            == ResponseFormatHandling::Forward,
    };
    let urls = request.state.get::<RequestImageUrls>();
    let urls = urls.filter(|_| wants_urls(candidate));
    let body = request.body.scanned();
    let (sent, content_type) = match (conversion_for(request, candidate), request.body.form()) {
        (BodyConversion::Multipart, _) => {
            let EncodedForm { content_type, body } =
                images::encode_form(body, rewrite, &request.id)?;
            let content_type = HeaderValue::try_from(content_type);
            (body, content_type.expect("our boundary is plain text"))
        }
        (BodyConversion::Json, Some(form)) => {
            let files = urls.map_or(
                FileRepresentation::DataUrls,
                RequestImageUrls::file_representation,
            );
            let json = images::encode_json(form, files, rewrite)?;
            (json, HeaderValue::from_static("application/json"))
        }
        (BodyConversion::Json | BodyConversion::Unchanged, _) => {
            if !rewrite.keep_response_format {
                leave_out(RESPONSE_FORMAT, request, attempt);
            }
            match (urls, request.body.document()) {
                (Some(urls), _) => urls.replace_data_uris(&mut attempt.edits),
                (None, Some(document)) => rewrite_heads(document, &mut attempt.edits),
                (None, None) => {}
            }
            return Ok(());
        }
    };
    attempt.request_override.body = Some(sent);
    attempt.headers.insert(header::CONTENT_TYPE, content_type);
    Ok(())
}

fn conversion_for(request: &RequestView, candidate: &Candidate) -> BodyConversion {
    let is_form = request.body.form().is_some();
    match (candidate.channel.image_edits.body, is_form) {
        (ImageEditBodyFormat::Json | ImageEditBodyFormat::JsonWithUrls, true) => {
            BodyConversion::Json
        }
        (ImageEditBodyFormat::Multipart, false) => BodyConversion::Multipart,
        (ImageEditBodyFormat::Unchanged, _)
        | (ImageEditBodyFormat::Json | ImageEditBodyFormat::JsonWithUrls, false)
        | (ImageEditBodyFormat::Multipart, true) => BodyConversion::Unchanged,
    }
}

fn check_convertible(
    request: &RequestView,
    candidate: &Candidate,
) -> Result<(), UnconvertibleField> {
    let body = request.body.scanned();
    match (conversion_for(request, candidate), request.body.form()) {
        (BodyConversion::Multipart, _) => images::fits_form(body),
        (BodyConversion::Json, Some(form)) => images::fits_json(form),
        (BodyConversion::Json | BodyConversion::Unchanged, _) => Ok(()),
    }
}

/// Removes a member of the JSON body, or a field of the form.
fn leave_out(name: &str, request: &RequestView, attempt: &mut AttemptView) {
    if let Some(form) = request.body.form() {
        for part in form.parts().iter().filter(|part| part.name == name) {
            attempt.edits.replace(part.whole.clone(), Bytes::new());
        }
    } else if let Some(body) = request.body.document()
        && let Some(member) = body.root().get(name)
    {
        attempt.edits.remove_member(member);
    }
}
