//! Builds the vendor's own API from a family's definition.

use super::{FamilyErrors, child};
use crate::definition::{NativeApiConfig, ValueSourcesConfig, VideoFamilyDefinitionConfig};
use crate::family::native_api::{NativeApi, NativeCall, NativeOperation, NativeText};
use crate::family::path_template::{PathName, PathTemplate};
use crate::family::source::ValueSourceList;
use headgate_scalar::one_or_more::OneOrMore;
use headgate_scalar::text_or_expression::TextOrExpressionConfig;
use http::Method;

const NO_POINTER: &str = "not a JSON pointer: it must begin with `/`";

impl FamilyErrors {
    pub(super) fn native(&mut self, family: &VideoFamilyDefinitionConfig) -> NativeApi {
        let Some(config) = &family.native else {
            return NativeApi::default();
        };
        let NativeApiConfig {
            replace,
            remove,
            files,
            refuse,
            key_scheme,
            model,
            ids_in_request,
            ids_in_response,
            ..
        } = config;
        for (index, pointer) in refuse.0.iter().enumerate() {
            if !pointer.starts_with('/') {
                self.add(&format!("/native/refuse/{index}"), NO_POINTER, None);
            }
        }
        let is_token = |scheme: &String| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !key_scheme.as_ref().is_none_or(is_token) {
            self.add("/native/key_scheme", "not a scheme", Some("such as Key"));
        }
        let removed = remove.0.iter().cloned().map(TextOrExpressionConfig::Text);
        let api = NativeApi {
            calls: self.native_calls(config, family),
            replaced: self.replaced(config, replace),
            removed: self
                .optional_pointers("/native/remove", &ValueSourcesConfig(removed.collect())),
            files: self.optional_pointers("/native/files", files),
            refused: refuse.0.clone(),
            key_scheme: key_scheme.clone(),
            model: self.optional_pointers("/native/model", model),
            ids_in_request: self.optional_pointers("/native/ids_in_request", ids_in_request),
            ids_in_response: self.optional_pointers("/native/ids_in_response", ids_in_response),
        };
        self.check_private_videos(&api, family);
        api
    }

    fn optional_pointers(&mut self, at: &str, config: &ValueSourcesConfig) -> ValueSourceList {
        match config.0.is_empty() {
            true => ValueSourceList::default(),
            false => self.pointers(at, config),
        }
    }

    fn native_calls(
        &mut self,
        config: &NativeApiConfig,
        family: &VideoFamilyDefinitionConfig,
    ) -> Vec<NativeCall> {
        let create = family.create.as_ref().map(|call| &*call.method);
        let query = family.query.as_ref().map(|call| &*call.method);
        let cancel = family.cancel.as_ref().map(|call| &*call.method);
        let result = family.result.as_ref().map(|call| &*call.method);
        let mut calls = Vec::new();
        for (operation, paths, method) in [
            (NativeOperation::Create, &config.create, create),
            (NativeOperation::Query, &config.query, query),
            (NativeOperation::Cancel, &config.cancel, cancel),
            (NativeOperation::Result, &config.result, result),
            (NativeOperation::Content, &config.content, Some("GET")),
        ] {
            let name = operation.name();
            let at = format!("/native/{name}");
            if !paths.0.is_empty() && config.create.0.is_empty() {
                self.add(&at, format!("`{name}` requires `create`"), None);
            }
            if !paths.0.is_empty() && method.is_none() {
                let reason = format!("the family has no `{name}`");
                self.add(&at, reason, Some("add it to the family, or remove it here"));
            }
            let method = method.and_then(|method| Method::from_bytes(method.as_bytes()).ok());
            for (end, text) in paths.placed() {
                let path = self.native_path(&format!("{at}{end}"), text, operation);
                calls.extend(path.zip(method.clone()).map(|(path, method)| NativeCall {
                    operation,
                    method,
                    path,
                }));
            }
        }
        calls
    }

    fn native_path(
        &mut self,
        at: &str,
        text: &str,
        operation: NativeOperation,
    ) -> Option<PathTemplate> {
        let path = match PathTemplate::parse(text) {
            Ok(path) => path,
            Err(reason) => {
                self.add(at, reason, Some("such as /tasks/{id}"));
                return None;
            }
        };
        let is_known = |name: &PathName| matches!(name, PathName::Id | PathName::Model);
        let has_id = path.names().any(|name| *name == PathName::Id);
        if !text.starts_with('/') || text.contains('#') || !path.names().all(is_known) {
            self.add(at, "not a path", Some("such as /tasks/{id}"));
        } else if has_id == (operation == NativeOperation::Create) {
            let reason = match has_id {
                true => "a create has no `{id}`: the task does not exist yet",
                false => "the path must contain `{id}`",
            };
            self.add(at, reason, None);
        }
        Some(path)
    }

    fn replaced(
        &mut self,
        config: &NativeApiConfig,
        replace: &std::collections::BTreeMap<String, String>,
    ) -> Vec<(String, NativeText)> {
        let mut replaced = Vec::new();
        for (pointer, text) in replace {
            let at = child("/native/replace", pointer);
            if !pointer.starts_with('/') {
                self.add(&at, NO_POINTER, None);
            }
            let text = match NativeText::parse(text) {
                Ok(text) => text,
                Err(reason) => {
                    self.add(&at, reason, None);
                    continue;
                }
            };
            for operation in text.urls() {
                if paths_for(config, operation).0.is_empty() {
                    let name = operation.name();
                    let reason = format!("`{{{name}_url}}` requires the path of `{name}`");
                    self.add(&at, reason, Some("add it to `native`"));
                }
            }
            replaced.push((pointer.clone(), text));
        }
        replaced
    }

    /// Callers need the id of their task in the response to a create.
    pub(super) fn check_native_id(&mut self, api: &NativeApi, task_id: &ValueSourceList) {
        let is_given = task_id.pointers().next().is_some()
            || api.replaced.iter().any(|(_, text)| text.has_id());
        if api.replaces_urls() && !is_given {
            let reason = "no text has `{id}`, and `task_id` is no pointer: callers would not know the id of their task";
            self.add(
                "/native/replace",
                reason,
                Some("add one at the place of the id"),
            );
        }
    }

    /// Callers can get a video that needs the channel's credential only from the gateway.
    fn check_private_videos(&mut self, api: &NativeApi, family: &VideoFamilyDefinitionConfig) {
        let is_private = family.response.as_ref().is_some_and(|it| it.is_private);
        let mut texts = api.replaced.iter().flat_map(|(_, text)| text.urls());
        if is_private
            && api.replaces_urls()
            && !texts.any(|operation| operation == NativeOperation::Content)
        {
            let reason = "`response.is_private` requires a text with `{content_url}`: only the gateway gets the video";
            self.add(
                "/native/replace",
                reason,
                Some("add one at the place of the video's URL"),
            );
        }
    }
}

fn paths_for(config: &NativeApiConfig, operation: NativeOperation) -> &OneOrMore {
    match operation {
        NativeOperation::Create => &config.create,
        NativeOperation::Query => &config.query,
        NativeOperation::Cancel => &config.cancel,
        NativeOperation::Result => &config.result,
        NativeOperation::Content => &config.content,
    }
}
