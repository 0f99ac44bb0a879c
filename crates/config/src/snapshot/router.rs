//! The router: finds the route of a request by method and path; the first match in the file wins.

#[cfg(test)]
mod tests;

mod path_hint;

use super::failover::Failover;
use foldhash::fast::RandomState;
use headgate_core::catalog::channel::TimeoutOverrides;
use headgate_core::filter::chain::{RequestChain, ResponseChain};
use headgate_protocol::percent_encoding::push_encoded;
use headgate_protocol::request_path::segment_text;
use headgate_protocol::{Protocol, TaskApiFormat};
use headgate_tracing::MessageTracePolicy;
use http::Method;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
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
    pub pattern: MethodPathPattern,
}

/// The match of a route: `POST /v1/messages`, `GET|DELETE /v1/responses/{id}`.
#[derive(Debug, PartialEq, Eq)]
pub struct MethodPathPattern {
    methods: Vec<Method>,
    segments: Vec<PathSegment>,
}

#[derive(Debug, PartialEq, Eq)]
enum PathSegment {
    /// In the normal form of paths.
    Literal(Box<str>),
    Parameter(Arc<str>),
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

/// The result of a lookup.
pub enum RouteMatch<'a> {
    /// The route with the text of its parameters.
    Route(&'a Arc<Route>, Vec<(Arc<str>, String)>),
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
    /// The video family whose routes have the longest common prefix with `path`, at least one segment: its error format
    /// is used for unknown paths. `None` if routes of other protocols have an equally long one.
    pub fn family_near(&self, path: &str) -> Option<Protocol> {
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
        near.filter(|protocol| protocol.descriptor().tasks == Some(TaskApiFormat::Native))
    }
}

impl MethodPathPattern {
    /// Parses a pattern as written in `routes.yaml`.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (methods, path) = text.split_once(' ').ok_or_else(|| {
            format!("expected `METHOD /path`, such as `POST /v1/messages`; found `{text}`")
        })?;
        let methods = methods
            .split('|')
            .map(|method| match method {
                "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS" => {
                    Ok(method.parse().expect("a standard method"))
                }
                _ => Err(format!(
                    "unknown method `{method}`; expected GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS"
                )),
            })
            .collect::<Result<_, _>>()?;
        let path = path.trim();
        let rest = path
            .strip_prefix('/')
            .ok_or_else(|| format!("the path `{path}` must start with `/`"))?;
        let segments = rest
            .split('/')
            .map(PathSegment::parse)
            .collect::<Result<_, _>>()?;
        Ok(Self { methods, segments })
    }

    /// A hint for an invalid pattern: one without a method, or with a method in lower case.
    pub fn corrected(text: &str) -> Option<Self> {
        let with_method = format!("POST {text}");
        let upper = text.split_once(' ').map(|(methods, path)| {
            let path = path.trim();
            format!("{} {path}", methods.to_ascii_uppercase())
        });
        let mut corrected = [Some(with_method), upper].into_iter().flatten();
        corrected.find_map(|text| Self::parse(&text).ok())
    }

    /// A literal segment with the syntax of other routers for a parameter or a wildcard: `:id`, `*`, `<id>`.
    pub fn literal_like_parameter(&self) -> Option<Cow<'_, str>> {
        let literals = self.segments.iter().filter_map(|segment| match segment {
            PathSegment::Literal(literal) => Some(segment_text(literal)),
            PathSegment::Parameter(_) => None,
        });
        let mut literals = literals.filter(|text| text.starts_with([':', '*', '<']));
        literals.next()
    }

    /// Whether it takes POST requests for a path without parameters, which name no task: what they send is new.
    pub fn takes_creates(&self) -> bool {
        self.methods.contains(&Method::POST) && self.is_literal()
    }

    /// Whether the path has a parameter of this name.
    pub fn has_parameter(&self, name: &str) -> bool {
        self.segments
            .iter()
            .any(|segment| matches!(segment, PathSegment::Parameter(known) if **known == *name))
    }

    /// Whether this pattern matches every request that `other` matches.
    pub fn covers(&self, other: &Self) -> bool {
        let methods = other
            .methods
            .iter()
            .all(|method| self.methods.contains(method));
        let covers = |(own, other): (&PathSegment, &PathSegment)| match (own, other) {
            (PathSegment::Parameter(_), PathSegment::Parameter(_)) => true,
            (PathSegment::Parameter(_), PathSegment::Literal(text)) => !text.is_empty(),
            (own, other) => own == other,
        };
        methods
            && self.segments.len() == other.segments.len()
            && self.segments.iter().zip(&other.segments).all(covers)
    }

    /// The methods, in the order of the pattern.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// The path without the methods, such as `/v1/responses/{id}`.
    pub fn path(&self) -> String {
        self.segments.iter().map(ToString::to_string).collect()
    }

    fn literal_path(&self) -> Option<String> {
        let mut path = String::new();
        for segment in &self.segments {
            match segment {
                PathSegment::Literal(text) => {
                    path.push('/');
                    path.push_str(text);
                }
                PathSegment::Parameter(_) => return None,
            }
        }
        Some(path)
    }

    fn matches_path(&self, path: &str) -> bool {
        let mut given = path.split('/').skip(1);
        self.segments
            .iter()
            .all(|segment| given.next().is_some_and(|given| segment.matches(given)))
            && given.next().is_none()
    }

    /// The number of leading segments of the path that match this pattern.
    fn shared_with(&self, path: &str) -> usize {
        let given = path.split('/').skip(1);
        let both = self.segments.iter().zip(given);
        both.take_while(|(segment, given)| segment.matches(given))
            .count()
    }

    /// Whether the path has no parameters.
    fn is_literal(&self) -> bool {
        self.segments.iter().all(PathSegment::is_literal)
    }

    fn parameters(&self, path: &str) -> Vec<(Arc<str>, String)> {
        if self.is_literal() {
            return Vec::new();
        }
        self.segments
            .iter()
            .zip(path.split('/').skip(1))
            .filter_map(|(segment, given)| match segment {
                PathSegment::Literal(_) => None,
                PathSegment::Parameter(name) => {
                    Some((name.clone(), segment_text(given).into_owned()))
                }
            })
            .collect()
    }
}

impl fmt::Display for MethodPathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let methods: Vec<&str> = self.methods.iter().map(Method::as_str).collect();
        write!(f, "{} ", methods.join("|"))?;
        f.write_str(&self.path())
    }
}

impl fmt::Display for PathSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(text) => write!(f, "/{text}"),
            Self::Parameter(name) => write!(f, "/{{{name}}}"),
        }
    }
}

impl PathSegment {
    fn is_literal(&self) -> bool {
        matches!(self, Self::Literal(_))
    }

    fn matches(&self, given: &str) -> bool {
        match self {
            Self::Literal(text) => **text == *given,
            Self::Parameter(_) => !given.is_empty(),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix('{').map(|rest| rest.strip_suffix('}')) {
            Some(Some(name))
                if !name.is_empty()
                    && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') =>
            {
                Ok(Self::Parameter(name.into()))
            }
            Some(_) => Err(format!("`{text}` is not a path parameter such as `{{id}}`")),
            None if text
                .bytes()
                .all(|b| b.is_ascii_graphic() && !b"{}?#%\\".contains(&b)) =>
            {
                let mut literal = String::with_capacity(text.len());
                push_encoded(&mut literal, text);
                Ok(Self::Literal(literal.into()))
            }
            None => Err(format!(
                "`{text}` has characters that are not allowed in a path segment; write a parameter as `{{id}}`"
            )),
        }
    }
}
