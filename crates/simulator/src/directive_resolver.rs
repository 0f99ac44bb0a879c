//! Resolves the directives of a request: from its header, its path, and the process-wide default.

use super::directive::Directives;
use super::directive_value::DirectiveError;
use super::query::percent_decoded;
use http::Method;
use http::request::Parts;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The request header that carries directives.
pub const HEADER: &str = "x-simulate";

/// The maximum number of directive texts whose `times` are counted; above it all counts are reset.
const MAX_COUNTED: usize = 10_000;

/// The default directives, and how often each text with `times` was applied.
#[derive(Default)]
pub struct DirectiveResolver {
    default_directives: RwLock<Option<Arc<str>>>,
    use_counts: Mutex<HashMap<String, u64>>,
}

impl DirectiveResolver {
    /// The directives of one request: the header has precedence over the path, and the path over the default.
    pub fn for_request(&self, head: &Parts) -> Result<Directives, DirectiveError> {
        let mut directives = Directives::default();
        for value in head.headers.get_all(HEADER) {
            directives =
                directives.or(self.resolve(&String::from_utf8_lossy(value.as_bytes()), head)?);
        }
        if let (Some(text), _) = split_path(head.uri.path()) {
            directives = directives.or(self.resolve(&text, head)?);
        }
        if let Some(text) = self.default_directives() {
            directives = directives.or(self.resolve(&text, head)?);
        }
        directives.sizes()?;
        Ok(directives)
    }

    /// The default directives, as written.
    pub fn default_directives(&self) -> Option<Arc<str>> {
        let default_directives = self.default_directives.read();
        default_directives
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Replaces the default directives and resets their count for `times`.
    pub fn set_default(&self, text: &str) -> Result<(), DirectiveError> {
        Directives::parse(text)?;
        self.counts().remove(text);
        *self
            .default_directives
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some(text.into());
        Ok(())
    }

    /// Removes the default directives and resets all counts.
    pub fn clear_default(&self) {
        *self
            .default_directives
            .write()
            .unwrap_or_else(PoisonError::into_inner) = None;
        self.counts().clear();
    }

    /// Parses `text`; the result is empty if `only` names another method or `times` is used up.
    fn resolve(&self, text: &str, head: &Parts) -> Result<Directives, DirectiveError> {
        let directives = Directives::parse(text)?;
        let is_for = |method: &Method| *method == head.method;
        if !directives.only.as_ref().is_none_or(is_for) {
            return Ok(Directives::default());
        }
        let Some(times) = directives.times else {
            return Ok(directives);
        };
        let mut counts = self.counts();
        if counts.len() >= MAX_COUNTED {
            counts.clear();
        }
        let use_counts = counts.entry(text.to_owned()).or_default();
        if *use_counts >= times {
            return Ok(Directives::default());
        }
        *use_counts += 1;
        Ok(directives)
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, HashMap<String, u64>> {
        self.use_counts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The percent-decoded directives in a first path segment `/~…`, and the rest of the path.
pub fn split_path(path: &str) -> (Option<Cow<'_, str>>, &str) {
    let Some(marked) = path.strip_prefix("/~") else {
        return (None, path);
    };
    let end = marked.find('/').unwrap_or(marked.len());
    let (text, rest) = marked.split_at(end);
    (Some(percent_decoded(text)), rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{Request, StatusCode};

    fn head(path: &str, header: Option<&str>) -> Parts {
        let mut request = Request::builder().uri(path);
        if let Some(header) = header {
            request = request.header(HEADER, header);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn directives_in_the_first_path_segment_are_split_off() {
        for (path, text, rest) in [
            ("/v1/models", None, "/v1/models"),
            ("/~status=503/v1/models", Some("status=503"), "/v1/models"),
            ("/~a%3d1%3Bb/x", Some("a=1;b"), "/x"),
            ("/~100%/x", Some("100%"), "/x"),
            ("/~cut", Some("cut"), ""),
        ] {
            let (found, left) = split_path(path);
            assert_eq!((found.as_deref(), left), (text, rest), "{path}");
        }
    }

    #[test]
    fn header_wins_over_path_over_default_directives() {
        let orders = DirectiveResolver::default();
        orders.set_default("status=500; html; code=a").unwrap();
        let directives = orders
            .for_request(&head("/~status=501;code=b/v1", Some("status=502")))
            .unwrap();
        assert_eq!(directives.status, Some(StatusCode::BAD_GATEWAY));
        assert_eq!(directives.code.as_deref(), Some("b"));
        assert!(directives.html);
        orders.clear_default();
        assert_eq!(
            orders.for_request(&head("/v1", None)),
            Ok(Directives::default())
        );
    }

    #[test]
    fn times_run_out_for_each_text_alone() {
        let orders = DirectiveResolver::default();
        let twice = head("/~status=503;times=2/v1", None);
        let seen = [(); 3].map(|()| orders.for_request(&twice).unwrap().status.is_some());
        assert_eq!(seen, [true, true, false]);
        let other = head("/~status=500;times=1/v1", None);
        assert!(orders.for_request(&other).unwrap().status.is_some());
    }
}
