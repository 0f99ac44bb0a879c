//! The admin pages of a feature.

use super::FeatureTypeMap;
use crate::serve::AppResponse;
use crate::state::StateStore;
use http::Method;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// An admin page of a feature. It responds with JSON.
pub struct FeatureAdminPage {
    pub method: Method,
    /// May end in `/{name}`, which stands for one segment.
    pub path: &'static str,
    /// One sentence, for the document of the HTTP API.
    pub summary: &'static str,
    /// Parameters of the query.
    pub parameters: &'static [PageQueryParameter],
    pub access: FeatureAdminPageAccess,
    /// Responds to a request that may use the page. All admin pages share one thread, which the future must not block:
    /// probes are served there.
    pub respond: FeaturePageResponder,
}

pub type FeaturePageResponder = for<'a> fn(FeatureAdminPageRequest<'a>) -> PageFuture<'a>;
pub type PageFuture<'a> = Pin<Box<dyn Future<Output = AppResponse> + Send + 'a>>;

/// Who may use a page of a feature.
#[derive(Clone)]
pub enum FeatureAdminPageAccess {
    /// Keys of both roles; without keys, everyone who reaches the listener.
    Read,
    /// Keys with the role `act`.
    Act(AuditedAdminAction),
}

/// A request for a page of a feature.
#[derive(Clone, Copy)]
pub struct FeatureAdminPageRequest<'r> {
    /// The values of the snapshot in use.
    pub values: &'r FeatureTypeMap,
    pub state: &'r Arc<dyn StateStore>,
    /// What `{name}` of the page's path stands for, as the URL has it.
    pub name: Option<&'r str>,
    /// The query, without the question mark.
    pub query: &'r str,
}

/// An action that the audit log records.
#[derive(Clone)]
pub struct AuditedAdminAction {
    /// The name in the audit log.
    pub name: &'static str,
    pub subject: Option<ActionTargetParameter>,
    /// Whether the action requires a key also on a listener without keys.
    pub needs_key: bool,
}

/// The object of an action.
#[derive(Clone, Copy)]
pub struct ActionTargetParameter {
    /// The parameter of the query that names it.
    pub parameter: &'static str,
    /// Whether a text is certainly the name of such an object. The audit log masks what else looks like a key: somebody
    /// may have typed one where a name belongs.
    pub is_name: fn(&str) -> bool,
}

/// A parameter of the query of an admin page.
#[derive(Clone, Copy, Debug)]
pub struct PageQueryParameter {
    pub name: &'static str,
    pub description: &'static str,
    pub required: bool,
}

impl ActionTargetParameter {
    /// An object whose names have no form of their own.
    pub const fn new(parameter: &'static str) -> Self {
        Self {
            parameter,
            is_name: |_| false,
        }
    }
}

impl PageQueryParameter {
    /// A parameter without which the page responds with an error.
    pub const fn required(name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            description,
            required: true,
        }
    }

    pub const fn optional(name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            description,
            required: false,
        }
    }
}
