//! Builds the requests of a family from its definition.

use super::{FamilyErrors, child};
use crate::definition::{TaskCancelConfig, TaskCreateConfig, TaskQueryConfig, TaskResultConfig};
use crate::family::call::{HeaderTemplate, ID, RequestTemplate, TaskCreateTemplate, UUID};
use crate::family::document_expression::DocumentExpression;
use crate::family::path_template::{PathName, PathTemplate};
use crate::family::task_url::HostPattern;
use crate::family::{TaskCancelCall, TaskQueryCall};
use crate::state::TaskState;
use headgate_scalar::text_or_expression::{ExpressionConfig, TextOrExpressionConfig};
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Method};
use serde_json::Value;
use std::collections::BTreeMap;

/// A request as written, and where.
struct WrittenCall<'c> {
    at: &'static str,
    method: &'c str,
    path: &'c str,
    headers: &'c BTreeMap<String, String>,
    body: Option<&'c Value>,
}

/// What a path may and must have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PathUse {
    Create,
    /// The id must be in it, unless the body has it.
    WithId,
    Result,
}

impl FamilyErrors {
    pub(super) fn create(&mut self, config: &TaskCreateConfig) -> Option<TaskCreateTemplate> {
        let TaskCreateConfig {
            method,
            path,
            headers,
            form,
            other_paths,
        } = config;
        let mut others = Vec::new();
        for (path, fields) in other_paths {
            let at = child("/create/other_paths", path);
            let path = self.path(&at, path, PathUse::Create);
            let fields = self.pointers(&at, fields);
            others.extend(path.map(|path| (path, fields)));
        }
        let (path, computed) = match path {
            TextOrExpressionConfig::Text(path) => (path.as_str(), None),
            TextOrExpressionConfig::Computed(ExpressionConfig { cel }) => {
                let computed = DocumentExpression::over_create(cel);
                let computed =
                    computed.map_err(|reason| self.add("/create/path/cel", reason, None));
                ("/", computed.ok())
            }
        };
        let call = WrittenCall {
            at: "/create",
            method,
            path,
            headers,
            body: None,
        };
        let call = self.call(&call, PathUse::Create)?;
        Some(TaskCreateTemplate::new(call, *form, computed, others))
    }

    pub(super) fn query(&mut self, config: &TaskQueryConfig) -> Option<TaskQueryCall> {
        let TaskQueryConfig {
            method,
            path,
            headers,
            body,
            url,
            hosts,
            cache_ttl,
            final_cache_ttl,
            max_per_second,
        } = config;
        let url = self.sources("/query/url", url);
        let hosts = self.hosts(hosts, !url.is_empty());
        let call = WrittenCall {
            at: "/query",
            method,
            path,
            headers,
            body: body.as_ref(),
        };
        Some(TaskQueryCall {
            call: self.call(&call, PathUse::WithId)?,
            cache_ttl: cache_ttl.duration(),
            final_cache_ttl: final_cache_ttl.duration(),
            max_per_second: *max_per_second,
            url,
            hosts,
        })
    }

    fn hosts(&mut self, hosts: &[String], has_url: bool) -> Vec<HostPattern> {
        if !hosts.is_empty() && !has_url {
            let hint = "add `url`, where the response to a create has the URL of the task";
            self.add("/query/hosts", "`hosts` belong to `url`", Some(hint));
        }
        let mut built = Vec::new();
        for (index, host) in hosts.iter().enumerate() {
            match HostPattern::parse(host) {
                Ok(pattern) => built.push(pattern),
                Err(reason) => {
                    let hint = "such as api.vendor.example or api.*.vendor.example";
                    self.add(&format!("/query/hosts/{index}"), reason, Some(hint));
                }
            }
        }
        built
    }

    pub(super) fn cancel(&mut self, config: &TaskCancelConfig) -> Option<TaskCancelCall> {
        let TaskCancelConfig {
            method,
            path,
            headers,
            body,
            statuses,
        } = config;
        let statuses = match statuses.is_empty() {
            true => vec![TaskState::Queued, TaskState::Running],
            false => statuses.clone(),
        };
        let call = WrittenCall {
            at: "/cancel",
            method,
            path,
            headers,
            body: body.as_ref(),
        };
        let call = self.call(&call, PathUse::WithId)?;
        Some(TaskCancelCall { call, statuses })
    }

    pub(super) fn result(&mut self, config: &TaskResultConfig) -> Option<RequestTemplate> {
        let TaskResultConfig {
            method,
            path,
            headers,
            body,
        } = config;
        let call = WrittenCall {
            at: "/result",
            method,
            path,
            headers,
            body: body.as_ref(),
        };
        self.call(&call, PathUse::Result)
    }

    pub(super) fn upload_call(
        &mut self,
        method: &str,
        path: &str,
        headers: &BTreeMap<String, String>,
    ) -> Option<RequestTemplate> {
        let call = WrittenCall {
            at: "/upload",
            method,
            path,
            headers,
            body: None,
        };
        self.call(&call, PathUse::Create)
    }

    fn call(&mut self, call: &WrittenCall<'_>, path_use: PathUse) -> Option<RequestTemplate> {
        let at = call.at;
        let known = Method::from_bytes(call.method.as_bytes()).ok();
        let known = known.filter(|method| {
            method
                .as_str()
                .bytes()
                .all(|byte| byte.is_ascii_uppercase())
        });
        if known.is_none() {
            self.add(
                &format!("{at}/method"),
                "not an HTTP method",
                Some("such as GET or POST"),
            );
        }
        let has_id_in_body = call.body.is_some_and(|body| body.to_string().contains(ID));
        let path_use = match path_use {
            PathUse::WithId if has_id_in_body => PathUse::Result,
            path_use => path_use,
        };
        let path = self.path(&format!("{at}/path"), call.path, path_use);
        Some(RequestTemplate {
            method: known?,
            path: path?,
            headers: self.headers(&format!("{at}/headers"), call.headers),
            body: call.body.cloned(),
        })
    }

    fn path(&mut self, at: &str, path: &str, path_use: PathUse) -> Option<PathTemplate> {
        let template = match PathTemplate::parse(path) {
            Ok(template) => template,
            Err(reason) => {
                self.add(at, reason, Some("such as /tasks/{id}"));
                return None;
            }
        };
        let sample = template.sample();
        if !sample.starts_with('/')
            || sample.parse::<PathAndQuery>().is_err()
            || sample.contains('#')
        {
            self.add(at, "not a path", Some("such as /tasks/{id}"));
            return None;
        }
        let has = |wanted: &PathName| template.names().any(|name| name == wanted);
        let has_response = template
            .names()
            .any(|name| matches!(name, PathName::Response(_)));
        let is_create = path_use == PathUse::Create;
        if is_create && has(&PathName::Id) {
            let reason =
                "a path before the create must not contain `{id}`: the task does not exist yet";
            self.add(at, reason, None);
        } else if path_use == PathUse::WithId && !has(&PathName::Id) {
            let hint = "`{id}` is replaced by the provider's task id";
            self.add(at, "the path must contain `{id}`", Some(hint));
        } else if !is_create && has(&PathName::Model) {
            let hint = "keep it in the id: `task_id: \"{model}/{/id}\"`, and write `{+id}` here";
            self.add(
                at,
                "the model is known only in the path of `create`",
                Some(hint),
            );
        } else if has_response && (is_create || !at.starts_with("/result")) {
            let reason = "a value of the response is known only in the path of `result`";
            self.add(at, reason, None);
        }
        Some(template)
    }

    fn headers(
        &mut self,
        at: &str,
        headers: &BTreeMap<String, String>,
    ) -> Vec<(HeaderName, HeaderTemplate)> {
        let mut built = Vec::new();
        for (name, value) in headers {
            let template = match value.split_once(UUID) {
                Some((before, after)) => HeaderTemplate::AroundUuid(before.into(), after.into()),
                None => HeaderTemplate::Fixed(HeaderValue::from_static("")),
            };
            match (
                name.parse::<HeaderName>(),
                value.parse::<HeaderValue>(),
                template,
            ) {
                (Ok(name), Ok(value), HeaderTemplate::Fixed(_)) => {
                    built.push((name, HeaderTemplate::Fixed(value)));
                }
                (Ok(name), Ok(_), template) => built.push((name, template)),
                (Err(_), _, _) => self.add(at, format!("`{name}` is not a header name"), None),
                (_, Err(_), _) => {
                    let reason = format!("the value of `{name}` is not a valid header value");
                    self.add(&child(at, name), reason, None);
                }
            }
        }
        built
    }
}
