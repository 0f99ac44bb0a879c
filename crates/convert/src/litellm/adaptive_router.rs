//! `auto_router/adaptive_router` of a LiteLLM configuration: a model that is one of several others, in shares.

use super::deployment::Deployment;
use crate::scalars;
use crate::source_settings::SourceSettingsTracker;
use serde_json::Value;

/// How names of models begin that are routers.
const MODEL: &str = "auto_router/adaptive_router";
/// LiteLLM's first estimate of the quality of a tier.
const QUALITIES: [(u64, f64); 3] = [(1, 0.3), (2, 0.5), (3, 0.7)];
/// LiteLLM's weights of quality and cost.
const WEIGHTS: (f64, f64) = (0.7, 0.3);
/// The header with the least tier that a request wants.
const TIER_HEADER: &str = "x-litellm-min-quality-tier";
const NOTE: &str = "each request goes to one of these models, in fixed shares (`weight` of the channels): the score with which LiteLLM begins, from the weights, tiers and costs. LiteLLM then learns from what callers reply; here, change the weights";

/// Whether an entry of `model_list` is a router.
pub fn is_router(entry: &Value) -> bool {
    let model = entry["litellm_params"]["model"].as_str();
    model.is_some_and(|model| model.starts_with(MODEL)) && entry["model_name"].is_string()
}

/// Adds the deployments of routers, made of those of the models that they choose from.
pub fn read(
    entries: &[Value],
    deployments: &mut Vec<Deployment>,
    settings: &mut SourceSettingsTracker,
) {
    for (at, entry) in entries.iter().enumerate() {
        if !is_router(entry) {
            continue;
        }
        let path = format!("model_list[{at}]");
        let targets = targets(entries, entry, deployments);
        if targets.is_empty() {
            settings.unconverted(
                &path,
                "no channel of the result serves a model that the router chooses from",
                "add channels for its models, with the router's name in `models`",
            );
            continue;
        }
        remark(&path, entry, &targets, settings);
        let weights = &entry["litellm_params"]["adaptive_router_config"]["weights"];
        let costs: Vec<f64> = targets.iter().map(|target| target.cost).collect();
        for target in &targets {
            let score = score(target, weights, &costs);
            let mut deployment = target.deployment.clone();
            deployment.path.clone_from(&path);
            deployment.group = entry["model_name"].as_str().unwrap_or_default().to_owned();
            deployment.order = None;
            deployment.settings.id = None;
            deployment.settings.weight = Some(((score * 100.0).round() as u64).clamp(1, 1000));
            deployment.settings.condition = target.tier.map(condition);
            deployments.push(deployment);
        }
    }
}

/// A model that a router chooses from.
struct RouterTarget {
    name: String,
    deployment: Deployment,
    tier: Option<u64>,
    cost: f64,
}

fn targets(entries: &[Value], router: &Value, deployments: &[Deployment]) -> Vec<RouterTarget> {
    let names = router["litellm_params"]["adaptive_router_config"]["available_models"].as_array();
    let mut targets = Vec::new();
    for name in names.into_iter().flatten().filter_map(Value::as_str) {
        let mut all = deployments.iter();
        let Some(deployment) = all.find(|one| one.group == name) else {
            continue;
        };
        let at = deployment.path.trim_start_matches("model_list[");
        let at: usize = at.trim_end_matches(']').parse().unwrap_or_default();
        let entry = &entries[at];
        let tier =
            scalars::count(&entry["model_info"]["adaptive_router_preferences"]["quality_tier"]);
        let costs =
            ["litellm_params", "model_info"].map(|section| &entry[section]["input_cost_per_token"]);
        let cost = costs.into_iter().find_map(scalars::number);
        targets.push(RouterTarget {
            name: name.to_owned(),
            deployment: deployment.clone(),
            tier: tier.filter(|tier| QUALITIES.iter().any(|(known, _)| known == tier)),
            cost: cost.unwrap_or_default(),
        });
    }
    targets
}

/// LiteLLM's first score of a model, 0 to 1.
fn score(target: &RouterTarget, weights: &Value, costs: &[f64]) -> f64 {
    let quality = QUALITIES
        .iter()
        .find(|(tier, _)| Some(*tier) == target.tier);
    let quality = quality.map_or(0.5, |(_, quality)| *quality);
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let most = costs.iter().copied().fold(0.0, f64::max);
    let cheapness = match most > least {
        true => 1.0 - (target.cost - least) / (most - least),
        false => 0.5,
    };
    let of_quality = scalars::number(&weights["quality"]).unwrap_or(WEIGHTS.0);
    let of_cost = scalars::number(&weights["cost"]).unwrap_or(WEIGHTS.1);
    of_quality * quality + of_cost * cheapness
}

/// The requests that a model of this tier is for.
fn condition(tier: u64) -> String {
    let tiers: Vec<String> = (1..=tier).map(|tier| format!(", \"{tier}\"")).collect();
    format!(
        "request.headers[\"{TIER_HEADER}\"] in [\"\"{}]",
        tiers.concat()
    )
}

fn remark(
    path: &str,
    router: &Value,
    targets: &[RouterTarget],
    settings: &mut SourceSettingsTracker,
) {
    let config = format!("{path}.litellm_params.adaptive_router_config");
    settings.converted(&format!("{path}.model_name"));
    settings.converted_with_note(&format!("{path}.litellm_params.model"), NOTE);
    settings.converted(&format!("{config}.weights.quality"));
    settings.converted(&format!("{config}.weights.cost"));
    let names = &router["litellm_params"]["adaptive_router_config"]["available_models"];
    for (at, name) in names.as_array().into_iter().flatten().enumerate() {
        let path = format!("{config}.available_models[{at}]");
        match targets.iter().any(|target| *name == *target.name) {
            true => settings.converted(&path),
            false => settings.unconverted(
                &path,
                "no channel of the result serves the model",
                "add a channel for it, with the router's name in `models`",
            ),
        }
    }
    for target in targets.iter().filter(|target| target.tier.is_some()) {
        let path = &target.deployment.path;
        let path = format!("{path}.model_info.adaptive_router_preferences.quality_tier");
        settings.converted_with_note(
            &path,
            format!(
                "the header {TIER_HEADER} selects the models of the router by it, as with LiteLLM"
            ),
        );
    }
}
