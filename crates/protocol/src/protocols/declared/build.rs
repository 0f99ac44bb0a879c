//! From a declaration to a descriptor.

use super::config::{ErrorFormatConfig, ProtocolConfig, ProtocolHeadersConfig, RetrySafetyConfig};
use super::errors::template_shape;
use super::leaked::{leaked, leaked_list, leaked_path, leaked_text};
use super::shapes::{batch_format, forms, medium, member_value, stream_shape};
use super::{DeclarationScope, InvalidProtocol};
use crate::credential_names::names_credential;
use crate::error_body::{ErrorBodyTemplate, ErrorShape};
use crate::fault::FaultKind;
use crate::nearest::nearest;
use crate::protocols::descriptor::{MODEL_MEMBER, no_older_spellings};
use crate::protocols::{
    DuplicateRequestCost, GenAiTraceNames, GenerationMedium, ProtocolDescriptor, ProtocolHeaders,
    ProviderResponseStorage, TaskApiFormat, chat, video,
};
use crate::response_text::TextPlaces;
use crate::response_verdict::{MemberMeaning, SuccessShape};
use crate::stream::{StreamEnding, StreamShape};
use crate::usage::UsageShape;
use http::{HeaderName, HeaderValue};

/// What a declaration has that extends no built-in protocol.
const PLAIN: ProtocolDescriptor = ProtocolDescriptor {
    name: "",
    path: "",
    stream_path: None,
    websocket: None,
    further_paths: &[],
    clouds: None,
    medium: GenerationMedium::Data,
    cost: DuplicateRequestCost::PaidWork,
    tasks: None,
    served_by: None,
    forms: None,
    is_form_only: false,
    model_member: MODEL_MEMBER,
    has_model_list: true,
    has_request_id_in_body: false,
    headers: &ProtocolHeaders::NONE,
    rate_limits: &chat::RATE_LIMITS,
    errors: chat::ERRORS,
    success: SuccessShape {
        list: None,
        members: &[],
    },
    streams: StreamShape::NONE,
    usage: UsageShape::NONE,
    models: chat::MODELS,
    id_events: &[],
    sealed_content: None,
    conversation: None,
    translation: None,
    texts: TextPlaces::PLAIN,
    normalise: no_older_spellings,
    batch: None,
    traces: GenAiTraceNames {
        operation: "generate_content",
        output_type: None,
        provider: None,
    },
};

/// Builds the descriptor of one declaration. Nothing is leaked before all of it is known to be right.
pub(super) struct DescriptorBuilder<'c> {
    pub(super) config: &'c ProtocolConfig,
    pub(super) scope: DeclarationScope,
    faults: Vec<InvalidProtocol>,
}

impl<'c> DescriptorBuilder<'c> {
    pub fn new(config: &'c ProtocolConfig, scope: DeclarationScope) -> Self {
        Self {
            config,
            scope,
            faults: Vec::new(),
        }
    }

    pub fn build(
        mut self,
        name: &str,
    ) -> Result<&'static ProtocolDescriptor, Vec<InvalidProtocol>> {
        let config = self.config;
        let base = self.base();
        let streams = config.streams.as_ref();
        let streams = streams.map_or(base.streams, stream_shape);
        let (forms, is_form_only) = match config.body {
            Some(body) => forms(body),
            None => (base.forms, base.is_form_only),
        };
        let model_member = self.model_member(forms.is_some());
        let template = self.error_template(&streams);
        let headers = config.headers.as_ref().map(|headers| self.headers(headers));
        let usage = config.usage.as_ref().map(|usage| self.usage(usage));
        self.check_cost();
        self.check_path();
        if !self.faults.is_empty() {
            return Err(self.faults);
        }
        let cost = self.cost();
        let costs_tokens = matches!(cost, DuplicateRequestCost::Tokens(_));
        Ok(leaked(ProtocolDescriptor {
            name: leaked_text(name),
            path: config.path.as_deref().map_or(base.path, leaked_text),
            // A path of its own is that of all requests.
            stream_path: base.stream_path.filter(|_| config.path.is_none()),
            further_paths: match config.path {
                Some(_) => &[],
                None => base.further_paths,
            },
            medium: config.medium.map_or(base.medium, medium),
            cost,
            forms,
            is_form_only,
            model_member: match model_member {
                Some(steps) => leaked_path(&steps),
                None => base.model_member,
            },
            headers: headers.flatten().map_or(base.headers, leaked),
            rate_limits: match config.rate_limits {
                Some(built_in) => built_in.0.descriptor().rate_limits,
                None => base.rate_limits,
            },
            errors: self.errors(base.errors, template, name),
            success: match &config.success {
                None => base.success,
                Some(members) => SuccessShape {
                    list: None,
                    members: leaked_list(members.iter().map(|(name, value)| {
                        (
                            leaked_text(name),
                            member_value(*value),
                            MemberMeaning::Success,
                        )
                    })),
                },
            },
            usage: match usage.flatten() {
                None => base.usage,
                Some(usage) => usage.leaked(base.usage.is_optional_in_streams),
            },
            streams,
            models: match config.models {
                Some(built_in) => built_in.0.descriptor().models,
                None => base.models,
            },
            conversation: base.conversation.filter(|_| costs_tokens),
            translation: None,
            batch: config.batch.map(batch_format),
            traces: GenAiTraceNames {
                operation: match &config.operation {
                    Some(operation) => leaked_text(operation),
                    None => base.traces.operation,
                },
                ..base.traces
            },
            ..base
        }))
    }

    /// What the declaration starts from.
    fn base(&mut self) -> ProtocolDescriptor {
        let extended = self.config.extends.map(|extended| extended.0.descriptor());
        let (default, is_allowed) = match self.scope {
            DeclarationScope::Endpoint => (PLAIN, extended.is_none_or(|it| it.tasks.is_none())),
            DeclarationScope::VideoFamily => {
                (video::TASKS, extended.is_none_or(|it| it.tasks.is_some()))
            }
        };
        if !is_allowed {
            let (reason, hint) = match self.scope {
                DeclarationScope::Endpoint => (
                    "a protocol of video tasks can only be extended in a family",
                    "write it as `protocol: {extends: …}` in `families`",
                ),
                DeclarationScope::VideoFamily => (
                    "the protocol of a family can only extend one of video tasks",
                    "remove `extends`, or write `extends: video`",
                ),
            };
            self.add("/extends", reason.to_owned(), hint);
        }
        let base = extended.map_or(default, |extended| *extended);
        ProtocolDescriptor {
            served_by: None,
            tasks: base.tasks.map(|_| TaskApiFormat::Native),
            ..base
        }
    }

    /// Video tasks are paid for one by one, whatever a family says.
    fn check_cost(&mut self) {
        if self.scope == DeclarationScope::VideoFamily {
            if self
                .config
                .retry
                .is_some_and(|it| it != RetrySafetyConfig::Paid)
            {
                let reason = "creates of a family are paid for one by one".to_owned();
                self.add("/retry", reason, "remove `retry`");
            }
            if self.config.medium.is_some() {
                let reason = "the medium of a family is video".to_owned();
                self.add("/medium", reason, "remove `medium`");
            }
        }
    }

    fn cost(&self) -> DuplicateRequestCost {
        match self.config.retry {
            Some(RetrySafetyConfig::Free) => {
                DuplicateRequestCost::Tokens(ProviderResponseStorage::Never)
            }
            Some(RetrySafetyConfig::Stored) => {
                DuplicateRequestCost::Tokens(ProviderResponseStorage::ByDefault)
            }
            Some(RetrySafetyConfig::Paid) | None => DuplicateRequestCost::PaidWork,
        }
    }

    fn error_template(&mut self, streams: &StreamShape) -> Option<ErrorBodyTemplate> {
        let Some(ErrorFormatConfig::Template(config)) = &self.config.errors else {
            return None;
        };
        for own in config.codes.keys() {
            let known = || FaultKind::ALL.into_iter().map(FaultKind::code);
            if own != "*" && !known().any(|code| code == own) {
                let hint = nearest(own, known(), 1);
                let hint = hint.first().map(|near| format!("did you mean `{near}`?"));
                let hint = hint.as_deref().unwrap_or("docs/errors.md lists all");
                let reason = format!("`{own}` is no error code of the gateway");
                self.add(&format!("/errors/codes/{own}"), reason, hint);
            }
        }
        // Streams with a marker have no names of events.
        let has_names = streams
            .ending
            .is_some_and(|it| it != StreamEnding::DoneMarker);
        let event_name = has_names.then_some("error");
        let body = config.body.clone().into();
        let codes = config.codes.clone().into_iter();
        let codes = codes.map(|(code, own)| (code, own.into())).collect();
        match ErrorBodyTemplate::new(&body, codes, event_name) {
            Ok(template) => Some(template),
            Err(invalid) => {
                let at = format!("/errors/body{}", invalid.pointer);
                self.add(&at, invalid.reason, &invalid.hint);
                None
            }
        }
    }

    fn errors(
        &self,
        base: ErrorShape,
        template: Option<ErrorBodyTemplate>,
        name: &str,
    ) -> ErrorShape {
        match (&self.config.errors, template) {
            (Some(ErrorFormatConfig::BuiltIn(built_in)), _) => built_in.0.descriptor().errors,
            (Some(ErrorFormatConfig::Template(config)), Some(template)) => {
                template_shape(config, template, name)
            }
            _ => base,
        }
    }

    fn headers(&mut self, config: &ProtocolHeadersConfig) -> Option<ProtocolHeaders> {
        let api_key = config.api_key.as_ref();
        let api_key = api_key.map(|name| self.header_name("/headers/api_key", name));
        if let Some(Some(name)) = &api_key
            && !names_credential(name.as_str().as_bytes())
        {
            let reason = format!(
                "`{name}` does not read as the name of a credential, by which keys of callers are kept from providers"
            );
            self.add(
                "/headers/api_key",
                reason,
                "use a name that ends with `-key` or `-token`",
            );
            return None;
        }
        let request_id = config.request_id.as_ref();
        let request_id = request_id.map(|name| self.header_name("/headers/request_id", name));
        let version = config.version.as_ref().map(|version| {
            let name = self.header_name("/headers/version/name", &version.name)?;
            if HeaderValue::from_str(&version.value).is_err() {
                let reason = "not a valid header value".to_owned();
                self.add(
                    "/headers/version/value",
                    reason,
                    "use visible ASCII characters",
                );
            }
            Some((name, &*version.value))
        });
        Some(ProtocolHeaders {
            api_key: api_key.flatten(),
            version: version
                .flatten()
                .map(|(name, value)| (name, leaked_text(value))),
            request_id: request_id.flatten(),
        })
    }

    fn header_name(&mut self, at: &str, name: &str) -> Option<HeaderName> {
        let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
        if parsed.is_none() {
            self.add(
                at,
                format!("`{name}` is not a header name"),
                "write it as `x-api-key`",
            );
        }
        parsed
    }

    pub(super) fn add(&mut self, pointer: &str, reason: String, hint: &str) {
        self.faults.push(InvalidProtocol {
            pointer: pointer.to_owned(),
            reason,
            hint: Some(hint.to_owned()),
        });
    }
}
