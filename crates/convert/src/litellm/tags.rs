//! Tags of deployments, by which requests select them.

use super::deployment::Deployment;
use crate::source_settings::SourceSettingsTracker;
use serde_json::Value;

/// The tag of deployments for requests without tags.
const DEFAULT: &str = "default";
/// The header with the tags of a request, without spaces.
const HEADER: &str = r#"request.headers["x-litellm-tags"].replace(" ", "")"#;
const NOTE: &str =
    "requests select channels by the header x-litellm-tags; tags in the body are not read";

/// Gives each deployment with tags its condition. The path of its entry leads to the entry.
pub fn read(
    entries: &[Value],
    deployments: &mut [Deployment],
    settings: &mut SourceSettingsTracker,
) {
    let tags_of = |path: &str| {
        let at = path.trim_start_matches("model_list[").trim_end_matches(']');
        let entry = at.parse().ok().and_then(|at: usize| entries.get(at))?;
        tags(&entry["litellm_params"]["tags"])
    };
    let defaults: Vec<String> = deployments
        .iter()
        .filter(|one| tags_of(&one.path).is_some_and(|tags| tags.contains(&DEFAULT)))
        .map(|one| one.group.clone())
        .collect();
    for deployment in deployments {
        let Some(tags) = tags_of(&deployment.path) else {
            continue;
        };
        let takes_untagged = tags.contains(&DEFAULT) || !defaults.contains(&deployment.group);
        deployment.settings.condition = Some(condition(&tags, takes_untagged));
        let path = format!("{}.litellm_params.tags", deployment.path);
        settings.converted_with_note(&path, NOTE);
    }
}

/// The tags of an entry, if each can stand in an expression.
fn tags(value: &Value) -> Option<Vec<&str>> {
    let tags = value
        .as_array()
        .filter(|tags| (1..=16).contains(&tags.len()))?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
    let tags = tags
        .iter()
        .map(|tag| tag.as_str().filter(|tag| tag.chars().all(allowed)));
    tags.collect()
}

fn condition(tags: &[&str], takes_untagged: bool) -> String {
    let names: Vec<String> = tags.iter().map(|tag| format!("\"{tag}\"")).collect();
    let matches = format!(
        "{HEADER}.split(\",\").exists(t, t in [{}])",
        names.join(", ")
    );
    match takes_untagged {
        true => format!("{HEADER} == \"\" || {matches}"),
        false => matches,
    }
}
