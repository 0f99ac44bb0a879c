//! What an admin page is: method, path, who may use it, and what responds.

use super::AdminApp;
use super::access::AdminUser;
use super::refusal::{AdminRefusal, internal_error};
use crate::openapi::{AdminPageDescription, AdminPageUser};
use bytes::Bytes;
use headgate_config::snapshot::admin::{AdminAccessRules, AdminRole, OpenAdminPage};
use headgate_core::feature::pages::{
    ActionTargetParameter, AuditedAdminAction, FeatureAdminPage, FeatureAdminPageAccess,
    FeatureAdminPageRequest, FeaturePageResponder, PageQueryParameter,
};
use headgate_core::serve::{AppClientConnection, AppResponse};
use headgate_protocol::credential_names::decoded;
use http::{Method, Request};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

pub(super) const JSON: &str = "application/json";
pub(super) const HTML: &str = "text/html";
pub(super) const CSS: &str = "text/css";
pub(super) const SCRIPT: &str = "text/javascript";
pub(super) const PLAIN: &str = "text/plain";
pub(super) const EVENTS: &str = "text/event-stream";
/// The end of a path that stands for any segment.
const SEGMENT: &str = "{name}";

/// A page, as a row of the router's table.
#[derive(Clone)]
pub(super) struct AdminPage {
    pub method: Method,
    pub path: &'static str,
    /// One sentence, for the document of the HTTP API.
    pub summary: &'static str,
    /// Parameters of the query.
    pub parameters: &'static [PageQueryParameter],
    /// The content type of the response, without its parameters.
    pub content_type: &'static str,
    pub access: PageAccess,
    pub respond: PageResponder,
}

/// Who may use a page.
#[derive(Clone)]
pub(super) enum PageAccess {
    /// Everyone if `server.admin_open` has the page, else as [`Self::Read`]. `/healthz` and `/readyz` contain nothing,
    /// and accept any `Host`: probes use the address of a pod.
    Open(OpenAdminPage),
    /// Everyone who reaches the listener by its own name.
    Public,
    /// Keys of all roles; without keys, everyone who reaches the listener.
    Read,
    /// Keys with the role `act`.
    Act(AuditedAdminAction),
    /// Keys with the role `issue`.
    Issue(AuditedAdminAction),
}

/// Responds to a request that may use the page. All admin pages share one thread, which must wait for nothing: probes
/// are served there.
#[derive(Clone, Copy)]
pub(super) enum PageResponder {
    /// On that thread: reads atomics only.
    Immediate(fn(&AdminApp, &AdminRequest) -> AppResponse),
    /// On a thread of its own: takes locks, reads files or makes large pages.
    Blocking(fn(&AdminApp, &AdminRequest) -> AppResponse),
    /// On that thread: waits for others without blocking it.
    Waiting(fn(AdminApp, Arc<AdminRequest>) -> PageResponse),
    /// As [`Self::Waiting`], with what a feature may see.
    Feature(FeaturePageResponder),
}

pub(super) type PageResponse = Pin<Box<dyn Future<Output = AppResponse> + Send>>;

/// A request, and who sends it.
pub(super) struct AdminRequest {
    pub http: Request<Bytes>,
    pub client: AppClientConnection,
    pub user: AdminUser,
    /// The object of the action, if the path or the body names it.
    pub subject: OnceLock<String>,
}

impl From<&FeatureAdminPage> for AdminPage {
    fn from(page: &FeatureAdminPage) -> Self {
        Self {
            method: page.method.clone(),
            path: page.path,
            summary: page.summary,
            parameters: page.parameters,
            content_type: JSON,
            access: match &page.access {
                FeatureAdminPageAccess::Read => PageAccess::Read,
                FeatureAdminPageAccess::Act(action) => PageAccess::Act(action.clone()),
            },
            respond: PageResponder::Feature(page.respond),
        }
    }
}

impl AdminPage {
    /// The response to a request that may use the page.
    pub async fn respond(&self, app: &AdminApp, request: &Arc<AdminRequest>) -> AppResponse {
        match self.respond {
            PageResponder::Immediate(respond) => respond(app, request),
            PageResponder::Waiting(respond) => respond(app.clone(), request.clone()).await,
            PageResponder::Feature(respond) => {
                let snapshot = app.reloader.current();
                let http_path = request.http.uri().path().to_owned();
                let request = FeatureAdminPageRequest {
                    values: &snapshot.features,
                    state: app.reloader.state(),
                    name: self.segment(&http_path),
                    query: request.query(),
                };
                respond(request).await
            }
            PageResponder::Blocking(respond) => {
                let (app, request) = (app.clone(), request.clone());
                let responding = tokio::task::spawn_blocking(move || respond(&app, &request));
                let response = responding.await;
                response.unwrap_or_else(|error| internal_error(&error))
            }
        }
    }

    /// Whether the page is at this path.
    pub fn is_at(&self, path: &str) -> bool {
        self.path == path || self.segment(path).is_some()
    }

    /// The last segment of a path, if the page is at every such path.
    pub fn segment<'p>(&self, path: &'p str) -> Option<&'p str> {
        let segment = path.strip_prefix(self.path.strip_suffix(SEGMENT)?)?;
        (!segment.is_empty() && !segment.contains('/')).then_some(segment)
    }

    /// The object of the action, if the path names it.
    pub fn named_subject(&self, path: &str) -> OnceLock<String> {
        let subject = self.segment(path).map(str::to_owned);
        subject.map_or_else(OnceLock::new, OnceLock::from)
    }

    /// What the document of the HTTP API has of the page.
    pub fn description(&self) -> AdminPageDescription {
        AdminPageDescription {
            method: self.method.clone(),
            path: self.path,
            summary: self.summary,
            user: match &self.access {
                PageAccess::Public | PageAccess::Open(_) => AdminPageUser::Everyone,
                PageAccess::Read => AdminPageUser::Reader,
                PageAccess::Act(action) => AdminPageUser::Actor {
                    needs_key: action.needs_key,
                },
                PageAccess::Issue(_) => AdminPageUser::Issuer,
            },
            parameters: self.parameters,
            content_type: self.content_type,
        }
    }
}

impl PageAccess {
    /// An action; `subject` is the parameter that names its object.
    pub const fn act(name: &'static str, subject: &'static str) -> Self {
        Self::Act(AuditedAdminAction {
            name,
            subject: Some(ActionTargetParameter::new(subject)),
            needs_key: true,
        })
    }

    /// An action on a caller, which the path or the body names.
    pub const fn issue(name: &'static str) -> Self {
        Self::Issue(AuditedAdminAction {
            name,
            subject: None,
            needs_key: true,
        })
    }

    /// What the page does if it acts, so that the audit log has a line of each request, and the role that it needs.
    pub fn action(&self) -> Option<(&AuditedAdminAction, AdminRole)> {
        match self {
            Self::Act(action) => Some((action, AdminRole::Act)),
            Self::Issue(action) => Some((action, AdminRole::Issue)),
            Self::Open(_) | Self::Public | Self::Read => None,
        }
    }

    /// Whether the page has no content, so that it may be requested under any host name.
    pub fn accepts_any_host(&self) -> bool {
        matches!(
            self,
            Self::Open(OpenAdminPage::Healthz | OpenAdminPage::Readyz)
        )
    }

    /// Whether the configuration opens the page to everyone, so that no key is read.
    pub fn is_open(&self, rules: &AdminAccessRules) -> bool {
        matches!(self, Self::Open(page) if rules.is_open(*page))
    }

    /// Checks that a user may use the page.
    pub fn check(&self, user: &AdminUser, rules: &AdminAccessRules) -> Result<(), AdminRefusal> {
        if matches!(self, Self::Public) || self.is_open(rules) {
            return Ok(());
        }
        let action = self.action();
        match user {
            AdminUser::Unknown if rules.has_keys() => Err(AdminRefusal::NoKey),
            AdminUser::Unknown => Err(AdminRefusal::KeysRequired),
            AdminUser::KeyHolder(key) => match action {
                Some((_, needed)) if key.role != needed => Err(AdminRefusal::WrongRole {
                    role: key.role,
                    needed,
                }),
                _ => Ok(()),
            },
            AdminUser::Loopback | AdminUser::WithoutKeys
                if action.is_some_and(|(action, _)| action.needs_key) =>
            {
                Err(AdminRefusal::ActsWithKeyOnly)
            }
            AdminUser::Loopback | AdminUser::WithoutKeys => Ok(()),
        }
    }
}

impl AdminRequest {
    /// The query, without the question mark.
    pub fn query(&self) -> &str {
        self.http.uri().query().unwrap_or_default()
    }

    /// The value of a parameter of the query; `None` if it is missing, or given more than once.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let members = self
            .query()
            .split('&')
            .filter_map(|member| member.split_once('='));
        let mut values = members
            .filter(|(member, _)| *member == name)
            .map(|(_, value)| value);
        let (only, other) = (values.next()?, values.next());
        let bytes = decoded(only.as_bytes()).collect();
        String::from_utf8(bytes).ok().filter(|_| other.is_none())
    }
}
