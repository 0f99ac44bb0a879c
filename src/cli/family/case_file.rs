//! Files of test cases of a family, as `docs/families/README.md` describes them.

use super::provider_answer::ProviderAnswer;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// One create, or one response of the provider, and what must come of it.
#[derive(Debug, Deserialize)]
#[serde(try_from = "VideoFamilyCaseConfig")]
pub struct VideoFamilyCase {
    /// A sentence, unique in the file.
    pub name: String,
    /// The channel's model.
    pub model: String,
    /// The channel's base URL.
    pub base_url: String,
    pub input: VideoFamilyCaseInput,
    /// What must come of it, by name. What is not named is not compared.
    pub expect: Map<String, Value>,
}

/// What happens in a case.
#[derive(Debug)]
pub enum VideoFamilyCaseInput {
    /// A caller's create in the generic shape, and the provider's responses to its uploads, in order.
    Create {
        create: Map<String, Value>,
        uploads: Vec<ProviderAnswer>,
    },
    /// A caller's create in the vendor's own format.
    NativeCreate(NativeCreateCase),
    /// The provider's response to a create.
    Created(ProviderAnswer),
    /// The provider's response to a query, and the one to the request for the result.
    Polled {
        /// The provider's task id. Default: that of the response, or `task`.
        task: Option<String>,
        status: ProviderAnswer,
        result: Option<ProviderAnswer>,
    },
}

/// A create in the vendor's own format.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NativeCreateCase {
    /// As callers send it, below the path of the gateway under which the API is served.
    pub path: String,
    #[serde(default)]
    pub body: Map<String, Value>,
}

/// What a case may expect of its kind of input.
const EXPECTED_OF_CREATE: &[&str] = &[
    "method", "path", "headers", "body", "ignored", "uploads", "refused", "error", "code",
    "message",
];
const EXPECTED_OF_NATIVE_CREATE: &[&str] = &["method", "path", "body", "refused"];
const EXPECTED_OF_CREATED: &[&str] = &[
    "task", "query", "cancel", "native", "error", "code", "message",
];
const EXPECTED_OF_POLLED: &[&str] = &[
    "status",
    "video_url",
    "duration",
    "resolution",
    "ratio",
    "progress",
    "credits",
    "error_code",
    "error_message",
    "upstream_status",
    "result",
    "native",
    "native_result",
    "error",
    "code",
    "message",
];

/// A case as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VideoFamilyCaseConfig {
    name: String,
    #[serde(default = "default_model")]
    model: String,
    #[serde(default = "default_base_url")]
    base_url: String,
    create: Option<Map<String, Value>>,
    uploads: Option<Vec<ProviderAnswer>>,
    native_create: Option<NativeCreateCase>,
    created: Option<ProviderAnswer>,
    task: Option<String>,
    polled: Option<ProviderAnswer>,
    result: Option<ProviderAnswer>,
    expect: Map<String, Value>,
}

fn default_model() -> String {
    "model".into()
}

fn default_base_url() -> String {
    "https://provider.example".into()
}

/// Reads a file, a list of cases. An error has the place in the text, if it has one.
pub fn read(text: &str) -> Result<Vec<VideoFamilyCase>, String> {
    let cases: Vec<VideoFamilyCase> = serde_saphyr::from_str(text).map_err(|error| {
        let error = error.to_string();
        // The command has this word in front already.
        error.trim_start_matches("error: ").to_owned()
    })?;
    if cases.is_empty() {
        return Err("the file has no cases".into());
    }
    let mut names = BTreeSet::new();
    match cases.iter().find(|case| !names.insert(&*case.name)) {
        Some(case) => Err(format!("two cases have the name `{}`", case.name)),
        None => Ok(cases),
    }
}

impl VideoFamilyCaseInput {
    /// What a case of this kind may expect.
    fn expected(&self) -> &'static [&'static str] {
        match self {
            Self::Create { .. } => EXPECTED_OF_CREATE,
            Self::NativeCreate(_) => EXPECTED_OF_NATIVE_CREATE,
            Self::Created(_) => EXPECTED_OF_CREATED,
            Self::Polled { .. } => EXPECTED_OF_POLLED,
        }
    }
}

impl TryFrom<VideoFamilyCaseConfig> for VideoFamilyCase {
    type Error = String;

    fn try_from(written: VideoFamilyCaseConfig) -> Result<Self, String> {
        let VideoFamilyCaseConfig {
            name,
            model,
            base_url,
            create,
            uploads,
            native_create,
            created,
            task,
            polled,
            result,
            expect,
        } = written;
        let invalid = |reason: &str| format!("case `{name}`: {reason}");
        if polled.is_none() && (task.is_some() || result.is_some()) {
            return Err(invalid("`task` and `result` belong to `polled`"));
        }
        if create.is_none() && uploads.is_some() {
            return Err(invalid("`uploads` belong to `create`"));
        }
        let input = match (create, native_create, created, polled) {
            (Some(create), None, None, None) => VideoFamilyCaseInput::Create {
                create,
                uploads: uploads.unwrap_or_default(),
            },
            (None, Some(create), None, None) => VideoFamilyCaseInput::NativeCreate(create),
            (None, None, Some(created), None) => VideoFamilyCaseInput::Created(created),
            (None, None, None, Some(status)) => VideoFamilyCaseInput::Polled {
                task,
                status,
                result,
            },
            _ => {
                return Err(invalid(
                    "write exactly one of `create`, `native_create`, `created` and `polled`",
                ));
            }
        };
        if let VideoFamilyCaseInput::Create { create, .. } = &input
            && create.contains_key("model")
        {
            return Err(invalid(
                "write `model` beside `create`: it is the channel's model",
            ));
        }
        let known = input.expected();
        if let Some(unknown) = expect.keys().find(|key| !known.contains(&key.as_str())) {
            let known = known.join(", ");
            return Err(invalid(&format!(
                "unknown key `expect.{unknown}`: expected {known}"
            )));
        }
        if expect.is_empty() {
            return Err(invalid("it expects nothing"));
        }
        Ok(Self {
            name,
            model,
            base_url,
            input,
            expect,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_has_one_input_and_expects_what_can_come_of_it() {
        let text = "
- {name: a, model: m, create: {prompt: a cat}, expect: {path: /a, body: {}}}
- {name: b, base_url: 'https://a.example', created: {id: 1}, expect: {task: '1'}}
- {name: c, task: '1', polled: {status: 404, body: {}}, result: {url: u}, expect: {status: running}}
";
        let cases = read(text).unwrap();
        assert_eq!((&*cases[0].model, &*cases[1].model), ("m", "model"));
        assert_eq!(cases[1].base_url, "https://a.example");
        assert!(
            matches!(&cases[2].input, VideoFamilyCaseInput::Polled { status, .. } if status.status == 404)
        );
    }

    #[test]
    fn what_the_format_does_not_have_is_an_error() {
        for (case, expected) in [
            ("{name: a, expect: {path: /a}}", "exactly one of"),
            (
                "{name: a, create: {}, polled: {}, expect: {path: /a}}",
                "exactly one of",
            ),
            ("{name: a, create: {}, expect: {}}", "expects nothing"),
            (
                "{name: a, create: {}, expect: {task: '1'}}",
                "unknown key `expect.task`",
            ),
            (
                "{name: a, created: {}, expect: {path: /a}}",
                "expected task, query",
            ),
            (
                "{name: a, create: {model: m}, expect: {path: /a}}",
                "beside `create`",
            ),
            (
                "{name: a, task: '1', created: {}, expect: {task: '1'}}",
                "belong to `polled`",
            ),
            (
                "{name: a, uploads: [], created: {}, expect: {task: '1'}}",
                "belong to `create`",
            ),
            (
                "{name: a, create: {}, expects: {}}",
                "unknown field `expects`",
            ),
            ("{name: a, create: {}}", "expect"),
        ] {
            let error = read(&format!("- {case}\n")).unwrap_err();
            assert!(error.contains(expected), "{case}: {error}");
            assert!(error.contains("line 1"), "{case}: {error}");
        }
        let twice = "- {name: a, create: {}, expect: {path: /a}}\n".repeat(2);
        assert!(read(&twice).unwrap_err().contains("two cases"));
        assert!(read("[]").unwrap_err().contains("no cases"));
    }
}
