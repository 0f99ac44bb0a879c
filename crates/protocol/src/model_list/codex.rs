//! The list of models that the Codex CLI reads: `GET /v1/models?client_version=…`, as of its versions up to 0.171.0 (github.com/openai/codex,
//! `codex-rs/protocol/src/openai_models.rs`, `ModelInfo`).

use super::{ListedModel, json};
use bytes::Bytes;
use serde::Serialize;

/// The parameter of the query that only this client sends.
const VERSION_PARAMETER: &str = "client_version";
/// The bytes of a tool's output that Codex sends of models that it does not know.
const TOOL_OUTPUT_BYTES_MAX: u32 = 10_000;

#[derive(Serialize)]
struct CodexModelList<'m> {
    models: Vec<CodexModel<'m>>,
}

/// A model. All members are required by some version; what the gateway does not know has the value that Codex itself gives a model
/// that it does not know.
#[derive(Serialize)]
struct CodexModel<'m> {
    slug: &'m str,
    display_name: &'m str,
    supported_reasoning_levels: [(); 0],
    shell_type: &'static str,
    visibility: &'static str,
    supported_in_api: bool,
    /// The order in the picker.
    priority: usize,
    supports_reasoning_summaries: bool,
    support_verbosity: bool,
    truncation_policy: TruncationPolicy,
    supports_parallel_tool_calls: bool,
    experimental_supported_tools: [(); 0],
    /// Its system prompt, in place of Codex's own.
    base_instructions: &'m str,
}

#[derive(Serialize)]
struct TruncationPolicy {
    mode: &'static str,
    limit: u32,
}

/// Whether a query is that of the Codex CLI.
pub fn is_for_codex(query: &str) -> bool {
    let mut names = query.split('&').map(|pair| pair.split('=').next());
    names.any(|name| name == Some(VERSION_PARAMETER))
}

/// The list of models in the given order, each with these instructions. It is empty without instructions: Codex gives models that it
/// does not know its own, and none to those of a list that has none.
pub fn codex_list(entries: &[ListedModel], instructions: Option<&str>) -> Bytes {
    let models = instructions.into_iter().flat_map(|base_instructions| {
        let entries = entries.iter().enumerate();
        entries.map(move |(priority, entry)| CodexModel {
            slug: &entry.id,
            display_name: entry.display_name.as_deref().unwrap_or(&entry.id),
            supported_reasoning_levels: [],
            shell_type: "default",
            visibility: "list",
            supported_in_api: true,
            priority,
            supports_reasoning_summaries: false,
            support_verbosity: false,
            truncation_policy: TruncationPolicy {
                mode: "bytes",
                limit: TOOL_OUTPUT_BYTES_MAX,
            },
            supports_parallel_tool_calls: false,
            experimental_supported_tools: [],
            base_instructions,
        })
    });
    json(&CodexModelList {
        models: models.collect(),
    })
}
