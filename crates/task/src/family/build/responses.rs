//! Builds the mapping of a family's responses from its definition.

use super::{FamilyErrors, child};
use crate::definition::{
    ErrorMappingConfig, ResponseMappingConfig, StatusMappingConfig, TaskExpiryConfig,
    TimeFormatConfig, TimeUnitConfig, UnknownStatusConfig, ValueSourcesConfig,
};
use crate::family::document_expression::DocumentExpression;
use crate::family::source::{ValueSource, ValueSourceList};
use crate::family::{ErrorMapping, ResponseFieldSources, StatusMapping, TaskExpiry, UsageMapping};
use crate::state::TaskState;
use crate::time::{self, TimeFormat};
use chrono::{Offset, Utc};
use headgate_scalar::text_or_expression::{ExpressionConfig, TextOrExpressionConfig};
use http::StatusCode;

impl FamilyErrors {
    /// Where responses have the task id; at plain places only if callers of a native API get their own in its place.
    pub(super) fn task_id(
        &mut self,
        config: &ValueSourcesConfig,
        is_plain: bool,
    ) -> ValueSourceList {
        match is_plain {
            true => self.pointers("/task_id", config),
            false => self.required_sources("/task_id", config),
        }
    }

    pub(super) fn status(&mut self, config: &StatusMappingConfig, is_plain: bool) -> StatusMapping {
        let StatusMappingConfig {
            at,
            map,
            unknown,
            expiry,
        } = config;
        if !map.values().any(|state| *state == TaskState::Succeeded) {
            self.add("/status/map", "no status is mapped to `succeeded`", None);
        }
        StatusMapping {
            at: match is_plain {
                true => self.pointers("/status/at", at),
                false => self.required_sources("/status/at", at),
            },
            words: map.clone().into_iter().collect(),
            keeps_unknown: match unknown {
                UnknownStatusConfig::Keep => true,
                UnknownStatusConfig::Fail => false,
            },
            expiry: expiry
                .as_ref()
                .map(|TaskExpiryConfig { at, default }| TaskExpiry {
                    at: at.as_ref().map(|at| self.sources("/status/expiry/at", at)),
                    default: default.duration(),
                }),
        }
    }

    pub(super) fn response(&mut self, config: &ResponseMappingConfig) -> ResponseFieldSources {
        let ResponseMappingConfig {
            video_url,
            video_base64,
            is_private,
            progress,
            video_duration,
            resolution,
            ratio,
            created,
            updated,
            times,
            usage,
        } = config;
        if video_url.0.is_empty() && video_base64.is_none() {
            self.add("/response/video_url", "missing place for `video_url`", None);
        }
        if let Some(at) = video_base64
            && !is_place_of_names(at)
        {
            let reason = "not a JSON pointer of names and indexes";
            let hint = "such as /response/videos/0/bytes";
            self.add("/response/video_base64", reason, Some(hint));
        }
        ResponseFieldSources {
            video_url: self.sources("/response/video_url", video_url),
            inline_video: video_base64.as_deref().map(Into::into),
            is_private: *is_private,
            progress: self.sources("/response/progress", progress),
            video_duration: self.sources("/response/video_duration", video_duration),
            resolution: self.sources("/response/resolution", resolution),
            ratio: self.sources("/response/ratio", ratio),
            created: self.sources("/response/created", created),
            updated: self.sources("/response/updated", updated),
            times: self.times(times),
            usage: UsageMapping {
                input_video_duration: self.sources(
                    "/response/usage/input_video_duration",
                    &usage.input_video_duration,
                ),
                output_video_duration: self.sources(
                    "/response/usage/output_video_duration",
                    &usage.output_video_duration,
                ),
                total_tokens: self.sources("/response/usage/total_tokens", &usage.total_tokens),
                duration: self.sources("/response/usage/duration", &usage.duration),
                credits: self.sources("/response/usage/credits", &usage.credits),
            },
        }
    }

    fn times(&mut self, config: &TimeFormatConfig) -> TimeFormat {
        let offset = config.offset.as_deref();
        if offset.is_some() && config.unit != TimeUnitConfig::Text {
            let reason = "`offset` requires `unit: text`";
            self.add("/response/times/offset", reason, None);
        }
        let offset = offset.map_or(Some(Utc.fix()), time::offset);
        if offset.is_none() {
            let reason = "not an offset from UTC";
            self.add("/response/times/offset", reason, Some("such as +08:00"));
        }
        match config.unit {
            TimeUnitConfig::Seconds => TimeFormat::Number { unit_ms: 1_000 },
            TimeUnitConfig::Milliseconds => TimeFormat::Number { unit_ms: 1 },
            TimeUnitConfig::Text => TimeFormat::Text {
                offset: offset.unwrap_or(Utc.fix()),
            },
        }
    }

    pub(super) fn errors(&mut self, config: &ErrorMappingConfig) -> ErrorMapping {
        ErrorMapping {
            code: self.sources("/errors/code", &config.code),
            message: self.sources("/errors/message", &config.message),
            failover_codes: config.failover_codes.clone(),
            statuses: self.statuses_under_success(config),
        }
    }

    /// Sources that are all plain pointers, because the values there are replaced.
    pub(super) fn pointers(&mut self, at: &str, config: &ValueSourcesConfig) -> ValueSourceList {
        let sources = self.sources(at, config);
        let is_plain = sources.pointers().count() == config.0.len();
        if config.0.is_empty()
            || !is_plain && self.0.iter().all(|fault| !fault.pointer.starts_with(at))
        {
            let reason = "expected one or more JSON pointers";
            self.add(at, reason, Some("such as /output/task_id"));
        }
        sources
    }

    /// As [`Self::sources`], at least one.
    pub(super) fn required_sources(
        &mut self,
        at: &str,
        config: &ValueSourcesConfig,
    ) -> ValueSourceList {
        if config.0.is_empty() {
            let reason = "expected one or more places in a response";
            self.add(at, reason, Some("such as /output/task_id"));
        }
        self.sources(at, config)
    }

    pub(super) fn sources(&mut self, at: &str, config: &ValueSourcesConfig) -> ValueSourceList {
        let mut sources = Vec::new();
        for (index, written) in config.0.iter().enumerate() {
            let at = match config.0.len() {
                1 => at.to_owned(),
                _ => format!("{at}/{index}"),
            };
            let source = match written {
                TextOrExpressionConfig::Text(text) => {
                    ValueSource::parse(text).map_err(str::to_owned)
                }
                TextOrExpressionConfig::Computed(ExpressionConfig { cel }) => {
                    DocumentExpression::over_response(cel).map(ValueSource::Computed)
                }
            };
            match source {
                Ok(source) if source.names_create() && !at.starts_with("/task_id") => {
                    let reason = "`{create_path}` and `{model}` are known only in `task_id`";
                    self.add(&at, reason, None);
                }
                Ok(source) => sources.push(source),
                Err(reason) => self.add(&at, reason, None),
            }
        }
        ValueSourceList::new(sources)
    }

    fn statuses_under_success(&mut self, config: &ErrorMappingConfig) -> Vec<(String, StatusCode)> {
        let mut built = Vec::new();
        for (code, status) in &config.statuses {
            let known = StatusCode::from_u16(*status).ok();
            match known.filter(|status| status.is_client_error() || status.is_server_error()) {
                Some(status) => built.push((code.clone(), status)),
                None => {
                    let at = child("/errors/statuses", code);
                    self.add(&at, "not the HTTP status of an error", Some("400 to 599"));
                }
            }
        }
        // The most specific pattern first.
        built.sort_by_key(|(code, _)| (code.ends_with('*'), std::cmp::Reverse(code.len())));
        built
    }
}

/// Whether a pointer names one value, whatever a response has.
fn is_place_of_names(pointer: &str) -> bool {
    let mut segments = pointer.split('/').skip(1);
    let is_name =
        |name: &str| !name.is_empty() && !matches!(name, "*" | "-1") && !name.starts_with('[');
    pointer.starts_with('/') && segments.all(is_name)
}
