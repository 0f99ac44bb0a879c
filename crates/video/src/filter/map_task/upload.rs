//! Uploads of a create's media before the create, on the channel and with the credential of the attempt.
//!
//! An upload costs nothing, and the create follows only after all of them: what fails here may fail over.

use super::mapped_create::create_for;
use super::request::invalid;
use super::upload_file::{FormFile, UploadFile};
use super::{MapTaskFilter, no_family};
use crate::status_request::call_headers;
use bytes::Bytes;
use headgate_core::catalog::model::Candidate;
use headgate_core::filter::view::{AttemptView, RequestView};
use headgate_core::subrequest::{Subrequest, SubrequestBody, SubrequestClient, SubrequestResponse};
use headgate_core::task::family::VideoFamily;
use headgate_core::task::family::upload::{
    MediaUpload, PendingUpload, UploadBody, UploadField, UploadedMedium,
};
use headgate_core::task::generic::GenericVideoRequest;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::form::FormBoundary;
use headgate_protocol::json::{JsonDocument, JsonLimits};
use http::{HeaderValue, header};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The maximum number of media that are uploaded for one create.
const UPLOADS_MAX: usize = 16;
/// How long all uploads of one create may take.
const UPLOADS_WITHIN: Duration = Duration::from_secs(120);

/// The uploads of one attempt.
struct AttemptUploads<'r> {
    filter: &'r MapTaskFilter,
    request: &'r RequestView,
    subrequests: SubrequestClient,
    candidate: Candidate,
    family: Arc<VideoFamily>,
    channel_model: Arc<str>,
}

impl MapTaskFilter {
    /// Whether the attempt has media that are uploaded before its create. A dry run uploads none.
    pub(super) fn has_uploads(&self, request: &RequestView, attempt: &AttemptView) -> bool {
        let create = create_for(request, &attempt.candidate);
        request.fetch.is_some() && create.is_some_and(|create| create.uploads > 0)
    }

    /// Checks the number of media that a create would upload, and that the family takes them as they are.
    pub(super) fn check_uploads(
        family: &VideoFamily,
        uploads: &[PendingUpload<'_, '_>],
    ) -> Result<(), Fault> {
        let Some(upload) = &family.upload else {
            return Ok(());
        };
        if uploads.len() > UPLOADS_MAX {
            let received = uploads.len();
            let message =
                format!("`medias` has {received} files to upload; send at most {UPLOADS_MAX}");
            return Err(Fault::new(FaultKind::Invalid, message).param("medias"));
        }
        for pending in uploads {
            upload.body(pending).map_err(|unsupported| {
                let param = pending.param();
                let message = format!("`{param}` cannot be uploaded as it is: {unsupported}");
                Fault::new(FaultKind::Invalid, message).param(param)
            })?;
        }
        Ok(())
    }

    /// Uploads the media of the create, and puts their ids into it.
    pub(super) async fn upload_media(
        &self,
        request: &RequestView,
        attempt: &mut AttemptView,
    ) -> Result<(), Fault> {
        let candidate = &attempt.candidate;
        let uploads = AttemptUploads {
            filter: self,
            request,
            subrequests: request.subrequests.clone().ok_or_else(no_family)?,
            candidate: Candidate {
                key: request.info.credential.map(|key| key as usize),
                ..candidate.clone()
            },
            family: candidate.channel.family.clone().ok_or_else(no_family)?,
            channel_model: candidate.model.as_ref().ok_or_else(no_family)?.name.clone(),
        };
        let body = timeout(UPLOADS_WITHIN, uploads.run()).await;
        let late = |_| {
            Fault::new(
                FaultKind::UpstreamTimeout,
                "the provider did not take the files of this request in time; try again",
            )
            .detail(format!("uploads took longer than {UPLOADS_WITHIN:?}"))
        };
        attempt.request_override.body = Some(body.map_err(late)??);
        Ok(())
    }
}

impl AttemptUploads<'_> {
    /// The body of the create with the ids of its media.
    async fn run(&self) -> Result<Bytes, Fault> {
        let document = self.request.body.scanned();
        let generic = GenericVideoRequest::read(document).map_err(invalid)?;
        let upload = self.family.upload.as_ref().ok_or_else(no_family)?;
        let mut uploaded: Vec<UploadedMedium> = Vec::new();
        let pending = self.family.pending_uploads(&generic, &self.channel_model);
        for medium in &pending {
            let response = self.send(upload, medium, document).await?;
            let id = self.id(upload, medium, &response)?;
            uploaded.push(UploadedMedium {
                index: medium.index,
                id,
            });
        }
        let mapped = self.family.request_with_uploads(
            &generic,
            &self.channel_model,
            self.filter.unsupported,
            &uploaded,
        );
        Ok(mapped.map_err(invalid)?.body)
    }

    async fn send(
        &self,
        upload: &MediaUpload,
        medium: &PendingUpload<'_, '_>,
        document: &JsonDocument,
    ) -> Result<SubrequestResponse, Fault> {
        let body = upload.body(medium).map_err(|_| no_family())?;
        let fields = match body {
            UploadBody::Json(json) => {
                return self.post(upload, "application/json", json.into()).await;
            }
            UploadBody::Form(fields) => fields,
        };
        let boundary = FormBoundary::new();
        let sends_file = fields.iter().any(|(_, field)| **field == UploadField::File);
        let content_type = boundary.content_type();
        if !sends_file {
            let url = medium.text();
            let fields = fields.iter().map(|(name, field)| match field {
                UploadField::Text(text) => boundary.text(name, text),
                UploadField::Url | UploadField::File => boundary.text(name, &url),
            });
            let form: String = fields.chain([boundary.end()]).collect();
            return self
                .post(upload, &content_type, Bytes::from(form).into())
                .await;
        }
        let param = medium.param();
        let file = match medium.is_data_uri() {
            true => UploadFile::from_data_uri(medium.content(document.body()), &param)?,
            false => self.fetched(&medium.text(), &param).await?,
        };
        file.check_size(upload.max_size, &param)?;
        let form = FormFile::new(&boundary, &fields, file);
        let (sending, receiver) = form.stream();
        let posted = self.post(upload, &content_type, SubrequestBody::Streamed(receiver));
        sending.beside(posted).await.unwrap_or_else(|reason| {
            let message =
                format!("the file at `{param}` could not be read: {reason}; send another URL");
            Err(Fault::new(FaultKind::Invalid, message).param(&param))
        })
    }

    /// The file at a URL of the caller, which the egress policy must allow.
    async fn fetched(&self, url: &str, param: &str) -> Result<UploadFile, Fault> {
        let fetch = self.request.fetch.as_ref().ok_or_else(no_family)?;
        let headers = http::HeaderMap::new();
        let opened = fetch.open(url, &self.filter.egress, &headers, None).await;
        let unreadable = || {
            let message = format!(
                "the file at `{param}` could not be fetched; check the URL, or send a data URI"
            );
            Fault::new(FaultKind::Invalid, message).param(param)
        };
        let opened = opened.map_err(|error| unreadable().source(error))?;
        let no_length = || unreadable().detail("its server declares no length");
        UploadFile::from_opened(opened).ok_or_else(no_length)
    }

    async fn post(
        &self,
        upload: &MediaUpload,
        content_type: &str,
        body: SubrequestBody,
    ) -> Result<SubrequestResponse, Fault> {
        let mut headers = call_headers(&upload.call);
        let content_type = HeaderValue::from_str(content_type);
        let content_type = content_type.expect("a boundary consists of letters and digits");
        headers.insert(header::CONTENT_TYPE, content_type);
        let info = &self.request.info;
        let sent = self.subrequests.send_within_attempt(Subrequest {
            id: self.request.id.clone(),
            candidate: self.candidate.clone(),
            method: upload.call.method.clone(),
            path: upload.call.path_for_model(&self.channel_model),
            other_host: None,
            inline_file: None,
            headers,
            body,
            upstream_request_id: info.subrequest_id.get_or_init(Arc::default).clone(),
            max_wait: Duration::ZERO,
        });
        sent.await
    }

    /// The id of an uploaded medium. An error about the file is the caller's, another one may fail over.
    fn id(
        &self,
        upload: &MediaUpload,
        medium: &PendingUpload<'_, '_>,
        response: &SubrequestResponse,
    ) -> Result<serde_json::Value, Fault> {
        let document = JsonDocument::parse(response.body.clone(), &JsonLimits::default()).ok();
        let id = document.as_ref().filter(|_| response.status.is_success());
        if let Some(id) = id.and_then(|document| upload.uploaded_id(document)) {
            return Ok(id);
        }
        let family = &self.family;
        let error = document
            .as_ref()
            .and_then(|document| family.error(document));
        let status = match response.status.is_success() {
            false => Some(response.status),
            true => document
                .as_ref()
                .and_then(|it| family.status_under_success(it)),
        };
        let code = error.as_ref().and_then(|error| error.code.as_deref());
        let fails_over = code.is_some_and(|code| family.may_fail_over(code));
        let channel = &*self.candidate.channel.name;
        let (id, role) = (&*self.request.id, medium.role.name());
        tracing::info!(
            channel,
            id,
            role,
            status = status.map(|status| status.as_u16()),
            code,
            "a medium was not uploaded"
        );
        let is_of_file = status.is_some_and(|status| {
            status.is_client_error() && !matches!(status.as_u16(), 401..=404 | 408 | 425 | 429)
        });
        if is_of_file && !fails_over {
            let param = medium.param();
            let reason = error.map_or_else(|| "it gives no reason".into(), |error| error.message);
            let message = format!("the provider did not take the file at `{param}`: {reason}");
            return Err(Fault::new(FaultKind::Invalid, message).param(param));
        }
        let message = "the provider did not take a file of this request; try again";
        let detail = format!("the response to the upload has no id; code {code:?}");
        Err(Fault::new(FaultKind::Upstream, message).detail(detail))
    }
}
