//! The path of a channel's base URL, which may have the model in it.

use super::path_segment::refused_part;
use crate::task::family::path_template::{PathName, PathTemplate, PathValues};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The path of a base URL without a trailing slash, such as `""`, `/v1` or `/openai/deployments/{model}`.
#[derive(Clone, Debug)]
pub struct BasePath {
    text: Arc<str>,
    /// `None` if the path is the same for all requests.
    template: Option<PathTemplate>,
}

/// Why there is no path for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BasePathError {
    #[error("the request has no model")]
    NoModel,
    /// What the name has, as a text that follows "must not".
    #[error("the model must not {0}")]
    RefusedModel(&'static str),
}

impl BasePath {
    /// # Errors
    /// A sentence that says what is wrong with the path.
    pub fn parse(path: &str) -> Result<Self, &'static str> {
        const PLACEHOLDER: &str = "the only placeholder of a base URL is `{model}`, which is one segment of its path or a part of it";
        let text = path.into();
        if !path.contains(['{', '}']) {
            let template = None;
            return Ok(Self { text, template });
        }
        let template = PathTemplate::parse(path).map_err(|_| PLACEHOLDER)?;
        let is_model = |name: &PathName| *name == PathName::Model;
        let has_brace = path.replace("{model}", "").contains(['{', '}']);
        match !has_brace && template.names().all(is_model) {
            true => Ok(Self {
                text,
                template: Some(template),
            }),
            false => Err(PLACEHOLDER),
        }
    }

    /// The path as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the path has the model in it, so that requests without a model cannot be sent.
    pub fn names_model(&self) -> bool {
        self.template.is_some()
    }

    /// The path of a request for `model`, which is percent-encoded as one segment.
    ///
    /// # Errors
    /// The path needs a model, and there is none or it cannot stand in a path.
    pub fn with_model(&self, model: Option<&str>) -> Result<Cow<'_, str>, BasePathError> {
        let Some(template) = &self.template else {
            return Ok(Cow::Borrowed(&self.text));
        };
        let model = model.ok_or(BasePathError::NoModel)?;
        if let Some(refused) = refused_part(model) {
            return Err(BasePathError::RefusedModel(refused));
        }
        let path = template.fill(PathValues {
            model: Some(model),
            ..PathValues::default()
        });
        Ok(Cow::Owned(path.expect("the path has no other value")))
    }
}

impl Default for BasePath {
    fn default() -> Self {
        Self {
            text: "".into(),
            template: None,
        }
    }
}

impl fmt::Display for BasePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::{BasePath, BasePathError};

    #[test]
    fn a_model_is_one_segment_of_the_path() {
        let deployments = BasePath::parse("/openai/deployments/{model}").unwrap();
        assert!(deployments.names_model());
        for (model, expected) in [
            ("gpt-4.1", "/openai/deployments/gpt-4.1"),
            ("a/b:c d", "/openai/deployments/a%2Fb%3Ac%20d"),
            ("ü", "/openai/deployments/%C3%BC"),
        ] {
            assert_eq!(deployments.with_model(Some(model)).unwrap(), expected);
        }
        assert_eq!(deployments.with_model(None), Err(BasePathError::NoModel));
        assert!(deployments.with_model(Some("..")).is_err());
        let plain = BasePath::parse("/v1").unwrap();
        assert!(!plain.names_model());
        assert_eq!(plain.with_model(None).unwrap(), "/v1");
        assert_eq!(plain.with_model(Some("..")).unwrap(), "/v1");
    }

    #[test]
    fn no_other_placeholder_is_accepted() {
        for path in [
            "/{id}",
            "/{+model}",
            "/{/a}",
            "/{model",
            "/model}",
            "/{}",
            "/{model}}",
        ] {
            assert!(BasePath::parse(path).is_err(), "{path}");
        }
        for path in ["", "/v1", "/a/{model}/b", "/models/{model}:run"] {
            assert_eq!(BasePath::parse(path).unwrap().text(), path);
        }
    }
}
