//! Builds a family from its definition and reports all errors at once.

mod media;
mod requests;
mod responses;

use super::call::{ID, RequestTemplate, TaskCreateTemplate};
use super::{TaskCancelCall, TaskQueryCall, VideoFamily};
use crate::task::definition::{
    TaskCancelConfig, TaskCreateConfig, TaskQueryConfig, VideoFamilyDefinitionConfig,
};
use crate::task::state::TaskState;
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Method};
use std::collections::BTreeMap;

/// An error in a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidFamily {
    /// JSON pointer in the definition; empty for the whole definition.
    pub pointer: String,
    /// What is wrong, in lower case, without a full stop.
    pub reason: String,
    pub hint: Option<&'static str>,
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
            hint,
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

    fn family(&mut self, name: &str, config: &VideoFamilyDefinitionConfig) -> Option<VideoFamily> {
        let create = self.section("create", &config.create);
        let create = create.map(|create| self.create(create));
        let query = self.section("query", &config.query);
        let query = query.map(|query| self.query(query));
        let cancel = config.cancel.as_ref().map(|cancel| self.cancel(cancel));
        let request = self.section("request", &config.request);
        let request = request.map(|request| self.request(request));
        let task_id = self.section("task_id", &config.task_id);
        let task_id = task_id.map(|task_id| self.pointers("/task_id", task_id));
        let status = self.section("status", &config.status);
        let status = status.map(|status| self.status(status));
        let response = self.section("response", &config.response);
        let response = response.map(|response| self.response(response));
        let errors = self.errors(&config.errors.clone().unwrap_or_default());
        let native = self.native(&config.native.clone().unwrap_or_default());
        let media = self.media(&config.media.clone().unwrap_or_default());
        Some(VideoFamily {
            name: name.into(),
            protocol: config.protocol,
            create: create??,
            query: query??,
            cancel: cancel.flatten(),
            request: request?,
            task_id: task_id?,
            status: status?,
            response: response?,
            errors,
            native,
            media,
        })
    }

    fn create(&mut self, config: &TaskCreateConfig) -> Option<TaskCreateTemplate> {
        let TaskCreateConfig {
            method,
            path,
            headers,
            other_paths,
        } = config;
        let mut others = Vec::new();
        for (path, fields) in other_paths {
            let at = child("/create/other_paths", path);
            self.path(&at, path, false);
            others.push((path.clone(), self.pointers(&at, fields)));
        }
        let call = self.call("/create", (method, path, headers), false)?;
        Some(TaskCreateTemplate::new(call, others))
    }

    fn call(
        &mut self,
        at: &str,
        (method, path, headers): (&str, &str, &BTreeMap<String, String>),
        with_id: bool,
    ) -> Option<RequestTemplate> {
        let known = Method::from_bytes(method.as_bytes()).ok();
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
        self.path(&format!("{at}/path"), path, with_id);
        Some(RequestTemplate {
            method: known?,
            path: path.to_owned(),
            headers: self.headers(&format!("{at}/headers"), headers),
        })
    }

    fn path(&mut self, at: &str, path: &str, with_id: bool) {
        let is_path =
            path.starts_with('/') && path.replace(ID, "id").parse::<PathAndQuery>().is_ok();
        if !is_path || path.replace(ID, "").contains(['{', '}', '#']) {
            self.add(at, "not a path", Some("such as /tasks/{id}"));
        } else if with_id && !path.contains(ID) {
            self.add(
                at,
                "the path must contain `{id}`",
                Some("`{id}` is replaced by the provider's task id"),
            );
        } else if !with_id && path.contains(ID) {
            self.add(
                at,
                "the path of `create` must not contain `{id}`: the task does not exist yet",
                None,
            );
        }
    }

    fn headers(
        &mut self,
        at: &str,
        headers: &BTreeMap<String, String>,
    ) -> Vec<(HeaderName, HeaderValue)> {
        let mut built = Vec::new();
        for (name, value) in headers {
            match (name.parse(), value.parse()) {
                (Ok(name), Ok(value)) => built.push((name, value)),
                (Err(_), _) => self.add(at, format!("`{name}` is not a header name"), None),
                (_, Err(_)) => {
                    let reason = format!("the value of `{name}` is not a valid header value");
                    self.add(&child(at, name), reason, None);
                }
            }
        }
        built
    }

    fn query(&mut self, config: &TaskQueryConfig) -> Option<TaskQueryCall> {
        let TaskQueryConfig {
            method,
            path,
            headers,
            cache_ttl,
            final_cache_ttl,
            max_per_second,
        } = config.clone();
        Some(TaskQueryCall {
            call: self.call("/query", (&method, &path, &headers), true)?,
            cache_ttl: cache_ttl.duration(),
            final_cache_ttl: final_cache_ttl.duration(),
            max_per_second,
        })
    }

    fn cancel(&mut self, config: &TaskCancelConfig) -> Option<TaskCancelCall> {
        let TaskCancelConfig {
            method,
            path,
            headers,
            statuses,
        } = config.clone();
        let statuses = match statuses.is_empty() {
            true => vec![TaskState::Queued, TaskState::Running],
            false => statuses,
        };
        let call = self.call("/cancel", (&method, &path, &headers), true)?;
        Some(TaskCancelCall { call, statuses })
    }
}

fn child(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}
