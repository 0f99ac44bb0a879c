//! Builds a family from its definition and reports all errors at once.

mod callback;
mod calls;
mod media;
mod native;
mod requests;
mod responses;
mod rules;
mod upload;

use super::VideoFamily;
use crate::definition::{FamilyProtocolConfig, VideoFamilyDefinitionConfig};
use headgate_protocol::Protocol;
use std::borrow::Cow;
use std::sync::Arc;

/// An error in a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidFamily {
    /// JSON pointer in the definition; empty for the whole definition.
    pub pointer: String,
    /// What is wrong, in lower case, without a full stop.
    pub reason: String,
    pub hint: Option<Cow<'static, str>>,
}

impl VideoFamily {
    /// # Errors
    /// All errors in the definition.
    pub fn new(
        name: &str,
        config: &VideoFamilyDefinitionConfig,
    ) -> Result<Self, Vec<InvalidFamily>> {
        let mut faults = FamilyErrors::default();
        let built = faults.family(name, config);
        match built {
            Some(family) if faults.0.is_empty() => Ok(family),
            _ => Err(faults.0),
        }
    }
}

/// The errors found so far.
#[derive(Default)]
struct FamilyErrors(Vec<InvalidFamily>);

impl FamilyErrors {
    fn add(&mut self, pointer: &str, reason: impl Into<String>, hint: Option<&'static str>) {
        self.0.push(InvalidFamily {
            pointer: pointer.to_owned(),
            reason: reason.into(),
            hint: hint.map(Cow::Borrowed),
        });
    }

    /// A section that a family must have; reports it if it is missing.
    fn section<'c, T>(&mut self, name: &str, section: &'c Option<T>) -> Option<&'c T> {
        if section.is_none() {
            let hint = "add it, or set `extends` to a shipped family to take its sections";
            self.add("", format!("missing required key `{name}`"), Some(hint));
        }
        section.as_ref()
    }

    fn protocol(&mut self, family: &str, config: &FamilyProtocolConfig) -> Option<Protocol> {
        match config.build(family) {
            Ok(protocol) => Some(protocol),
            Err(faults) => {
                self.0.extend(faults.into_iter().map(|fault| InvalidFamily {
                    pointer: format!("/protocol{}", fault.pointer),
                    reason: fault.reason,
                    hint: fault.hint.map(Cow::Owned),
                }));
                None
            }
        }
    }

    fn family(&mut self, name: &str, config: &VideoFamilyDefinitionConfig) -> Option<VideoFamily> {
        let upload = config.upload.as_ref().map(|upload| self.upload(upload));
        let create = self.section("create", &config.create);
        let create = create.map(|create| self.create(create));
        let query = self.section("query", &config.query);
        let query = query.map(|query| self.query(query));
        let cancel = config.cancel.as_ref().map(|cancel| self.cancel(cancel));
        let result = config.result.as_ref().map(|result| self.result(result));
        let callback = self.callback(&config.callback.clone().unwrap_or_default());
        let request = self.section("request", &config.request);
        let built = create.as_ref().and_then(Option::as_ref);
        let path_has_model = built.is_some_and(|create| create.names_model());
        let request = request.map(|request| self.request(request, path_has_model));
        let task_id = self.section("task_id", &config.task_id);
        let native = self.native(config);
        // Without the calls of the vendor's API, its responses are rewritten only at plain places.
        let is_plain = config.protocol.is_some() && !native.replaces_urls();
        let task_id = task_id.map(|task_id| self.task_id(task_id, is_plain));
        if let Some(task_id) = &task_id {
            self.check_native_id(&native, task_id);
        }
        let status = self.section("status", &config.status);
        let status = status.map(|status| self.status(status, is_plain));
        let response = self.section("response", &config.response);
        let response = response.map(|response| self.response(response));
        if config.protocol.is_some() && config.create.as_ref().is_some_and(|create| create.form) {
            let reason =
                "a family with a `protocol` takes the creates of its callers as they are, in JSON";
            self.add("/create/form", reason, None);
        }
        let has_inline_video = config
            .response
            .as_ref()
            .is_some_and(|it| it.video_base64.is_some());
        if has_inline_video && config.result.is_some() {
            let reason =
                "a video in base64 is in the response to a query, not in that of a second request";
            self.add("/response/video_base64", reason, None);
        }
        let errors = self.errors(&config.errors.clone().unwrap_or_default());
        let media = self.media(&config.media.clone().unwrap_or_default());
        let protocol = config.protocol.as_ref();
        let protocol = protocol.map(|protocol| self.protocol(name, protocol));
        let (create, request) = (create??, request?);
        let reads_create = request.is_computed() || create.reads_create();
        Some(VideoFamily {
            name: name.into(),
            vendor: config.vendor.clone(),
            protocol: protocol.flatten(),
            upload: upload.flatten(),
            create,
            query: query??,
            cancel: cancel.flatten(),
            result: result.flatten(),
            callback,
            request,
            reads_create,
            task_id: task_id?,
            status: status?,
            response: response?,
            errors,
            native,
            media,
            public_url: Arc::default(),
        })
    }
}

fn child(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}
