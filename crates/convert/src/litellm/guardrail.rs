//! A guardrail of a LiteLLM configuration: which requests it checks.

use crate::scalars;
use crate::source_settings::SourceSettingsTracker;
use crate::yaml_text::scalar;
use serde_json::Value;

/// The protocols whose requests are checked.
pub const TEXT_PROTOCOLS: [&str; 3] = ["chat", "messages", "responses"];
/// A guardrail of the file.
pub struct Guardrail<'c> {
    /// Path of its entry.
    pub path: String,
    pub name: &'c str,
    pub params: &'c Value,
    /// Parts of an exchange that it checks, such as `pre_call`.
    pub modes: Vec<&'c str>,
    /// Whether it checks every request, and not only those that name it.
    pub is_default: bool,
}

impl<'c> Guardrail<'c> {
    /// `None` if its name cannot stand in an expression.
    pub fn new(path: &str, entry: &'c Value) -> Option<Self> {
        let name = entry["guardrail_name"].as_str()?;
        let params = &entry["litellm_params"];
        let mode = &params["mode"];
        let modes = match mode {
            Value::Array(modes) => modes.iter().filter_map(Value::as_str).collect(),
            mode => mode.as_str().into_iter().collect(),
        };
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_-. ".contains(c);
        name.chars().all(allowed).then(|| Self {
            path: path.to_owned(),
            name,
            params,
            modes,
            is_default: scalars::boolean(&params["default_on"]) == Some(true),
        })
    }

    pub fn at(&self, key: &str) -> String {
        format!("{}.litellm_params.{key}", self.path)
    }

    /// A step for the requests that the guardrail checks, and of those only the ones that `condition` is true for.
    pub fn step(&self, condition: Option<String>, filter: &str) -> String {
        let named = format!(
            "json(\"/guardrails\") != null && json(\"/guardrails\").exists(g, g == \"{}\")",
            self.name
        );
        let named = (!self.is_default).then_some(named);
        let conditions: Vec<String> = named.into_iter().chain(condition).collect();
        match conditions.join(" && ") {
            none if none.is_empty() => format!("{{{filter}}}"),
            all => format!("{{if: {}, {filter}}}", scalar(&all)),
        }
    }

    /// Marks its name and the requests that it checks as read.
    pub fn remark(&self, settings: &mut SourceSettingsTracker) {
        settings.converted(&format!("{}.guardrail_name", self.path));
        match self.is_default {
            true => settings.converted(&self.at("default_on")),
            false => settings.converted_with_note(
                &self.at("default_on"),
                "requests name the guardrail in `guardrails` of their body, as with LiteLLM; of objects in that list the name is not read",
            ),
        }
    }
}
