//! Creates: what a provider gets is JSON at a path, or a field is named.

use super::MODEL;
use crate::input::parse_json;
use headgate_protocol::json::JsonDocument;
use headgate_task::family::upload::{UploadBody, UploadedMedium};
use headgate_task::family::{CallbackTarget, UnsupportedFieldPolicy, VideoFamily};
use headgate_task::generic::GenericVideoRequest;
use headgate_task::media_kind::MediaKind;

const KINDS: [MediaKind; 3] = [MediaKind::Image, MediaKind::Video, MediaKind::Audio];
/// A day, in milliseconds.
const DURATION_MS_MAX: u64 = 86_400_000;

/// A create in the generic shape is mapped to JSON, or refused with a message.
pub fn check_create(family: &VideoFamily, create: &JsonDocument) {
    let mut request = match GenericVideoRequest::read(create) {
        Ok(request) => request,
        Err(refusal) => {
            assert!(!refusal.message.is_empty());
            return;
        }
    };
    check_request(family, &request);
    let wanted = request.resolution().unwrap_or_default();
    if let Some(near) = family.near_resolution(&wanted, MODEL) {
        assert_ne!(near, wanted);
        request.set_resolution(near);
        assert_eq!(family.near_resolution(near, MODEL), None);
        check_request(family, &request);
    }
    let requested = family.requested_video(create, MODEL, true);
    assert!(
        requested
            .duration_ms
            .is_none_or(|duration| duration <= DURATION_MS_MAX)
    );
    family.output_duration(create, true);
    check_urls(family, create, true);
}

/// A create of a vendor's SDK: what it asks for is read, and its path is filled.
pub fn check_native_create(family: &VideoFamily, create: &JsonDocument) {
    family.requested_video(create, MODEL, false);
    family.output_duration(create, false);
    check_urls(family, create, false);
    for node in family.tasks_named_in(create) {
        assert!(node.as_str().is_some());
    }
    for call in family.native_api().calls() {
        let path = call.create_path(MODEL).unwrap_or_default();
        let has = |pointer: &str| create.root().pointer(pointer).is_some();
        let filled = family.create.path(&path, MODEL, has, None);
        assert!(filled.is_none_or(|path| path.starts_with('/')));
    }
}

fn check_request(family: &VideoFamily, request: &GenericVideoRequest<'_>) {
    let uploaded = upload(family, request);
    for policy in [
        UnsupportedFieldPolicy::Refuse,
        UnsupportedFieldPolicy::Ignore,
    ] {
        for uploaded in [&[], &*uploaded] {
            match family.request_with_uploads(request, MODEL, policy, uploaded) {
                Ok(mapped) => {
                    assert!(mapped.path.starts_with('/'), "{}", mapped.path);
                    let body = parse_json(&mapped.body);
                    assert!(body.is_none_or(|body| body.is_object()));
                    assert!(mapped.ignored.iter().all(|field| !field.message.is_empty()));
                    mapped.param_at("/input");
                }
                Err(refusal) => assert!(!refusal.message.is_empty()),
            }
        }
    }
    match family.callback_target() {
        Some(CallbackTarget::Body(pointer)) => {
            let (member, value) = pointer.member_with(b"\"https://gateway.example\"");
            assert!(!member.is_empty());
            parse_json(&value);
        }
        Some(CallbackTarget::Query(name)) => assert!(!name.is_empty()),
        None => assert!(!family.sends_callbacks()),
    }
}

/// The ids of all media that are uploaded before a create.
fn upload(family: &VideoFamily, request: &GenericVideoRequest<'_>) -> Vec<UploadedMedium> {
    let Some(upload) = &family.upload else {
        return Vec::new();
    };
    assert!(upload.call.path_for_model(MODEL).starts_with('/'));
    let pending = family.pending_uploads(request, MODEL);
    for medium in &pending {
        match upload.body(medium) {
            Ok(UploadBody::Json(body)) => drop(parse_json(&body)),
            Ok(UploadBody::Form(fields)) => assert!(!fields.is_empty()),
            Err(refusal) => assert!(!refusal.to_string().is_empty()),
        }
        assert!(medium.param().starts_with("medias["));
        let scheme = medium.text().get(..5).map(str::to_ascii_lowercase);
        assert_eq!(medium.is_data_uri(), scheme.as_deref() == Some("data:"));
    }
    let ids = pending.iter().map(|medium| UploadedMedium {
        index: medium.index,
        id: format!("file-{}", medium.index).into(),
    });
    ids.collect()
}

/// The URLs of media are in the create, and what is known of them agrees.
fn check_urls(family: &VideoFamily, create: &JsonDocument, is_generic: bool) {
    for url in family.media_urls(create, is_generic) {
        assert!(!url.param.is_empty());
        assert!(url.role.is_none() || family.checks_media());
        let text = url.node.text_start(64).unwrap_or_default();
        for (name, value) in family.headers_for_url(&text) {
            assert!(!name.as_str().is_empty() && !value.is_empty());
        }
    }
    for kind in KINDS {
        assert!(!family.hosts(kind) || family.request_bytes_max() > 0);
        family.takes_inline(kind);
    }
}
