//! The router: finds the route of a request by method and path; the first match in the file wins.

#[cfg(test)]
mod tests;

mod path_hint;
mod pattern;
mod websocket_settings;

pub use pattern::MethodPathPattern;
pub use websocket_settings::RouteWebSocketSettings;

use super::failover::Failover;
use foldhash::fast::RandomState;
use headgate_core::catalog::channel::TimeoutOverrides;
use headgate_core::filter::chain::{RequestChain, ResponseChain};
use headgate_core::task::TaskSettings;
use headgate_protocol::Protocol;
use headgate_tracing::MessageTracePolicy;
use headgate_translate::TranslationPolicy;
use http::Method;
use std::collections::HashMap;
use std::sync::Arc;

/// A route as built.
pub struct Route {
    pub name: Arc<str>,
    pub protocol: Option<Protocol>,
    pub request: RequestChain,
    pub response: ResponseChain,
    pub timeouts: TimeoutOverrides,
    pub failover: Failover,
    pub traced_messages: MessageTracePolicy,
    /// `None` if only channels of its own protocol serve it.
    pub translation: Option<Arc<RouteTranslation>>,
    /// `None` if it takes no WebSockets.
    pub websocket: Option<RouteWebSocketSettings>,
    pub pattern: MethodPathPattern,
}

/// The translation of a route's requests.
#[derive(Debug)]
pub struct RouteTranslation {
    pub policy: TranslationPolicy,
    /// With the keys that seal thoughts.
    pub tasks: Arc<TaskSettings>,
}

impl Route {
    /// The protocols of channels into which requests are translated.
    pub fn translated_protocols(&self) -> &[Protocol] {
        match &self.translation {
            Some(translation) => &translation.policy.protocols,
            None => &[],
        }
    }
}

/// All routes of a snapshot.
#[derive(Default)]
pub struct Router {
    routes: Vec<Arc<Route>>,
    /// Indexes of the routes without parameters by path, in the order of the file.
    literal: HashMap<String, Vec<usize>, RandomState>,
    /// Indexes of the routes with parameters, in the order of the file.
    templated: Vec<usize>,
}

/// The parameters of a path: names and texts.
pub type PathParameters = Vec<(Arc<str>, String)>;

/// The result of a lookup.
pub enum RouteMatch<'a> {
    /// The route with the text of its parameters.
    Route(&'a Arc<Route>, PathParameters),
    /// The path exists, but only with these methods.
    OtherMethods(Vec<Method>),
    Nothing,
}

impl Router {
    pub fn new(routes: Vec<Route>) -> Self {
        let mut router = Self::default();
        for (index, route) in routes.iter().enumerate() {
            match route.pattern.literal_path() {
                Some(path) => router.literal.entry(path).or_default().push(index),
                None => router.templated.push(index),
            }
        }
        router.routes = routes.into_iter().map(Arc::new).collect();
        router
    }

    pub fn routes(&self) -> &[Arc<Route>] {
        &self.routes
    }

    /// The first route that matches `method` and `path`, which is in normal form.
    pub fn find(&self, method: &Method, path: &str) -> RouteMatch<'_> {
        let literal = self.literal.get(path).map_or(&[][..], Vec::as_slice);
        if let ([only], []) = (literal, &*self.templated) {
            return self.first_match(&[*only], method, path);
        }
        let templated = self
            .templated
            .iter()
            .filter(|index| self.routes[**index].pattern.matches_path(path));
        let mut on_path: Vec<usize> = literal.iter().chain(templated).copied().collect();
        on_path.sort_unstable();
        self.first_match(&on_path, method, path)
    }

    /// The first route at `path`, which is in normal form, that takes WebSockets, with the text of its parameters.
    pub fn find_websocket(&self, path: &str) -> Option<(&Arc<Route>, PathParameters)> {
        let mut routes = self.routes.iter();
        let takes = |route: &Route| route.websocket.is_some() && route.pattern.matches_path(path);
        let route = routes.find(|route| takes(route))?;
        Some((route, route.pattern.parameters(path)))
    }

    /// The first of the routes at `on_path` that takes `method`.
    fn first_match(&self, on_path: &[usize], method: &Method, path: &str) -> RouteMatch<'_> {
        let taking = on_path
            .iter()
            .map(|index| &self.routes[*index])
            .find(|route| route.pattern.methods.contains(method));
        match taking {
            Some(route) => RouteMatch::Route(route, route.pattern.parameters(path)),
            None if on_path.is_empty() => RouteMatch::Nothing,
            None => RouteMatch::OtherMethods(
                on_path
                    .iter()
                    .flat_map(|index| self.routes[*index].pattern.methods.iter().cloned())
                    .collect(),
            ),
        }
    }
}

impl Router {
    /// The protocol whose routes have the longest common prefix with `path`, at least one segment: its error format is used
    /// for paths and methods that no route has. `None` if routes of other protocols have an equally long one.
    pub fn protocol_near(&self, path: &str) -> Option<Protocol> {
        let mut longest = 0;
        let mut near = None;
        for route in &self.routes {
            let (shared, protocol) = (route.pattern.shared_with(path), route.protocol);
            if shared > longest {
                longest = shared;
                near = protocol;
            } else if shared == longest && near != protocol {
                near = None;
            }
        }
        near
    }
}
