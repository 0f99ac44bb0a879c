//! The pattern of a route: methods, and a path with parameters.

use headgate_core::filter::descriptor::RoutePath;
use headgate_protocol::percent_encoding::push_encoded;
use headgate_protocol::request_path::segment_text;
use http::Method;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The match of a route: `POST /v1/messages`, `GET|DELETE /v1/responses/{id}`.
#[derive(Debug, PartialEq, Eq)]
pub struct MethodPathPattern {
    pub methods: Vec<Method>,
    pub(super) segments: Vec<PathSegment>,
    /// The position of the parameter with several segments, if there is one.
    rest: Option<usize>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum PathSegment {
    /// In the normal form of paths.
    Literal(Box<str>),
    /// `{name}`, or `{name}:run` with a literal end in the normal form of paths.
    Parameter { name: Arc<str>, end: Box<str> },
    /// `{+name}`: one or more segments.
    Segments(Arc<str>),
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
        let segments: Vec<_> = rest
            .split('/')
            .map(PathSegment::parse)
            .collect::<Result<_, _>>()?;
        let is_rest = |segment: &PathSegment| matches!(segment, PathSegment::Segments(_));
        let rest = segments.iter().position(is_rest);
        if segments.iter().filter(|segment| is_rest(segment)).count() > 1 {
            return Err(format!(
                "`{path}` has two parameters for several segments; one is possible"
            ));
        }
        Ok(Self {
            methods,
            segments,
            rest,
        })
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
            PathSegment::Parameter { .. } | PathSegment::Segments(_) => None,
        });
        let mut literals = literals.filter(|text| text.starts_with([':', '*', '<']));
        literals.next()
    }

    /// Whether it takes POST requests for a path without parameters but the model, which names no task: what they send is
    /// new.
    pub fn takes_creates(&self) -> bool {
        let mut names = self.segments.iter().filter_map(PathSegment::name);
        self.methods.contains(&Method::POST) && names.all(|name| name == "model")
    }

    /// Whether the path has a parameter of this name.
    pub fn has_parameter(&self, name: &str) -> bool {
        let mut names = self.segments.iter().filter_map(PathSegment::name);
        names.any(|known| known == name)
    }

    /// Whether this pattern matches every request that `other` matches.
    pub fn covers(&self, other: &Self) -> bool {
        let methods = other
            .methods
            .iter()
            .all(|method| self.methods.contains(method));
        methods && self.covers_path(other)
    }

    fn covers_path(&self, other: &Self) -> bool {
        let covers = |(own, other): (&PathSegment, &PathSegment)| own.covers(other);
        let Some(rest) = self.rest else {
            return self.segments.len() == other.segments.len()
                && self.segments.iter().zip(&other.segments).all(covers);
        };
        let (before, after) = (&self.segments[..rest], &self.segments[rest + 1..]);
        let fixed = before.len() + after.len();
        // What a parameter of several segments takes in the other pattern must be taken by the one in this pattern.
        let is_within = other
            .rest
            .is_none_or(|place| rest <= place && place + after.len() < other.segments.len());
        is_within
            && other.segments.len() > fixed
            && before.iter().zip(&other.segments).all(covers)
            && after
                .iter()
                .rev()
                .zip(other.segments.iter().rev())
                .all(covers)
    }

    /// The methods, in the order of the pattern.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// As filters see it.
    pub fn route_path(&self) -> RoutePath {
        RoutePath {
            methods: self.methods.clone(),
            path: self.path(),
        }
    }

    /// The path without the methods, such as `/v1/responses/{id}`.
    pub fn path(&self) -> String {
        self.segments.iter().map(ToString::to_string).collect()
    }

    pub(super) fn literal_path(&self) -> Option<String> {
        let mut path = String::new();
        for segment in &self.segments {
            match segment {
                PathSegment::Literal(text) => {
                    path.push('/');
                    path.push_str(text);
                }
                PathSegment::Parameter { .. } | PathSegment::Segments(_) => return None,
            }
        }
        Some(path)
    }

    pub(super) fn matches_path(&self, path: &str) -> bool {
        if let Some(rest) = self.rest {
            return self.matches_around(rest, path);
        }
        let mut given = path.split('/').skip(1);
        self.segments
            .iter()
            .all(|segment| given.next().is_some_and(|given| segment.matches(given)))
            && given.next().is_none()
    }

    /// Whether a path matches the segments before and after the parameter of several segments at `rest`.
    fn matches_around(&self, rest: usize, path: &str) -> bool {
        let mut given = path.split('/');
        given.next();
        let is_before = |segment: &PathSegment| {
            let given = given.next();
            given.is_some_and(|given| segment.matches(given))
        };
        if !self.segments[..rest].iter().all(is_before) {
            return false;
        }
        let is_after = |segment: &PathSegment| {
            let given = given.next_back();
            given.is_some_and(|given| segment.matches(given))
        };
        if !self.segments[rest + 1..].iter().rev().all(is_after) {
            return false;
        }
        let mut taken = given.peekable();
        taken.peek().is_some() && taken.all(|segment| !segment.is_empty())
    }

    /// The number of leading segments of the path that match this pattern.
    pub(super) fn shared_with(&self, path: &str) -> usize {
        let given = path.split('/').skip(1);
        let both = self.segments.iter().zip(given);
        both.take_while(|(segment, given)| segment.matches(given))
            .count()
    }

    /// Whether the path has no parameters.
    fn is_literal(&self) -> bool {
        self.segments.iter().all(PathSegment::is_literal)
    }

    /// The text of each parameter in a path that matches.
    pub(super) fn parameters(&self, path: &str) -> Vec<(Arc<str>, String)> {
        if self.is_literal() {
            return Vec::new();
        }
        let given: Vec<&str> = path.split('/').skip(1).collect();
        // How many segments the parameter of several segments takes beside its own.
        let more = given.len().saturating_sub(self.segments.len());
        let rest = self.rest.unwrap_or(self.segments.len());
        let parameters = self.segments.iter().enumerate();
        let parameters = parameters.filter_map(|(index, segment)| match segment {
            PathSegment::Literal(_) => None,
            PathSegment::Parameter { name, end } => {
                let at = if index > rest { index + more } else { index };
                let text = given.get(at)?.strip_suffix(&**end)?;
                Some((name.clone(), segment_text(text).into_owned()))
            }
            PathSegment::Segments(name) => {
                let texts = given.get(index..=index + more)?.iter();
                let texts: Vec<_> = texts.map(|text| segment_text(text)).collect();
                Some((name.clone(), texts.join("/")))
            }
        });
        parameters.collect()
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
            Self::Parameter { name, end } => write!(f, "/{{{name}}}{end}"),
            Self::Segments(name) => write!(f, "/{{+{name}}}"),
        }
    }
}

impl PathSegment {
    pub(super) fn is_literal(&self) -> bool {
        matches!(self, Self::Literal(_))
    }

    pub(super) fn matches(&self, given: &str) -> bool {
        match self {
            Self::Literal(text) => **text == *given,
            Self::Parameter { end, .. } => given.len() > end.len() && given.ends_with(&**end),
            Self::Segments(_) => !given.is_empty(),
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Literal(_) => None,
            Self::Parameter { name, .. } | Self::Segments(name) => Some(name),
        }
    }

    /// Whether this segment takes all that another one takes.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Segments(_), _) => true,
            (Self::Parameter { end, .. }, Self::Parameter { end: other, .. }) => {
                other.ends_with(&**end)
            }
            (Self::Parameter { .. }, Self::Literal(text)) => self.matches(text),
            (own, other) => own == other,
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let is_name = |name: &str| {
            let mut bytes = name.bytes();
            !name.is_empty() && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
        };
        match text.strip_prefix('{').map(|rest| rest.split_once('}')) {
            Some(Some((name, ""))) if name.strip_prefix('+').is_some_and(is_name) => {
                Ok(Self::Segments(name[1..].into()))
            }
            Some(Some((name, end)))
                if is_name(name) && is_literal(end) && (end.is_empty() || end.starts_with(':')) =>
            {
                Ok(Self::Parameter {
                    name: name.into(),
                    end: encoded(end),
                })
            }
            Some(_) => Err(format!(
                "`{text}` is not a path parameter such as `{{id}}`, `{{+model}}` for several segments, or `{{model}}:run`"
            )),
            None if is_literal(text) => Ok(Self::Literal(encoded(text))),
            None => Err(format!(
                "`{text}` has characters that are not allowed in a path segment; write a parameter as `{{id}}`"
            )),
        }
    }
}

fn is_literal(text: &str) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_graphic() && !b"{}?#%\\".contains(&b))
}

/// The normal form of a literal text in a path.
fn encoded(text: &str) -> Box<str> {
    let mut encoded = String::with_capacity(text.len());
    push_encoded(&mut encoded, text);
    encoded.into()
}
