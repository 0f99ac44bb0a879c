//! The uploads of a create in a test case: what is sent, and the ids in the responses of the case.

use super::provider_answer::ProviderAnswer;
use headgate_core::task::family::VideoFamily;
use headgate_core::task::family::upload::{UploadBody, UploadField, UploadedMedium};
use headgate_core::task::generic::GenericVideoRequest;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use http::StatusCode;
use serde_json::{Map, Value, json};

/// The uploads of one create.
#[derive(Default)]
pub struct CaseUploads {
    /// What is sent, as `expect.uploads` has it.
    pub requests: Vec<Value>,
    pub media: Vec<UploadedMedium>,
}

/// A response to an upload without an id.
pub struct UploadFailure {
    /// That of the response, or the one that its error stands for.
    pub status: StatusCode,
    pub document: Option<JsonDocument>,
}

/// The uploads of a create that the family takes.
///
/// # Errors
/// A response has no id.
pub fn uploaded(
    family: &VideoFamily,
    model: &str,
    create: &Map<String, Value>,
    answers: &[ProviderAnswer],
) -> Result<CaseUploads, UploadFailure> {
    let mut uploads = CaseUploads::default();
    let document = super::generic_document(model, create);
    let request = document
        .as_ref()
        .ok()
        .and_then(|it| GenericVideoRequest::read(it).ok());
    let (Some(upload), Some(request)) = (&family.upload, request) else {
        return Ok(uploads);
    };
    let pending = family.pending_uploads(&request, model);
    for (medium, answer) in pending.iter().zip(answers) {
        let path = upload.call.path_for_model(model);
        let sent = match upload.body(medium) {
            Err(unsupported) => json!({"refused": unsupported.to_string()}),
            Ok(UploadBody::Json(body)) => {
                json!({"path": path, "body": serde_json::from_slice::<Value>(&body).ok()})
            }
            Ok(UploadBody::Form(fields)) => {
                let fields = fields.into_iter().map(|(name, field)| {
                    let value = match field {
                        UploadField::Text(text) => text.clone(),
                        UploadField::Url => medium.text().into_owned(),
                        UploadField::File => "{file}".to_owned(),
                    };
                    (name.to_owned(), json!(value))
                });
                json!({"path": path, "form": fields.collect::<Map<_, _>>()})
            }
        };
        uploads.requests.push(sent);
        let document = JsonDocument::parse(answer.body.clone(), &JsonLimits::default()).ok();
        let id = document.as_ref().filter(|_| answer.status.is_success());
        match id.and_then(|document| upload.uploaded_id(document)) {
            Some(id) => uploads.media.push(UploadedMedium {
                index: medium.index,
                id,
            }),
            None => {
                let stands_for = document
                    .as_ref()
                    .and_then(|it| family.status_under_success(it));
                let status = match answer.status.is_success() {
                    true => stands_for.unwrap_or(StatusCode::BAD_GATEWAY),
                    false => answer.status,
                };
                return Err(UploadFailure { status, document });
            }
        }
    }
    Ok(uploads)
}
