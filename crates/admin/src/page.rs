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
use std::sync::Arc;

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
    /// Keys of both roles; without keys, everyone who reaches the listener.
    Read,
    /// Keys with the role `act`.
    Act(AuditedAdminAction),
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
    Feature(FeaturePageResponder),
}

/// A request, and who sends it.
pub(super) struct AdminRequest {
    pub http: Request<Bytes>,
    pub client: AppClientConnection,
    pub user: AdminUser,
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
    fn segment<'p>(&self, path: &'p str) -> Option<&'p str> {
        let segment = path.strip_prefix(self.path.strip_suffix(SEGMENT)?)?;
        (!segment.is_empty() && !segment.contains('/')).then_some(segment)
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

    /// Whether the page acts, so that the audit log has a line of each request.
    pub fn is_action(&self) -> bool {
        matches!(self, Self::Act(_))
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
        let action = match self {
            Self::Public => return Ok(()),
            Self::Open(_) if self.is_open(rules) => return Ok(()),
            Self::Open(_) | Self::Read => None,
            Self::Act(action) => Some(action),
        };
        match user {
            AdminUser::Unknown if rules.has_keys() => Err(AdminRefusal::NoKey),
            AdminUser::Unknown => Err(AdminRefusal::KeysRequired),
            AdminUser::KeyHolder(key) if action.is_some() && key.role == AdminRole::Read => {
                Err(AdminRefusal::ReadOnly)
            }
            AdminUser::Loopback | AdminUser::WithoutKeys
                if action.is_some_and(|action| action.needs_key) =>
            {
                Err(AdminRefusal::ActsWithKeyOnly)
            }
            AdminUser::KeyHolder(_) | AdminUser::Loopback | AdminUser::WithoutKeys => Ok(()),
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
