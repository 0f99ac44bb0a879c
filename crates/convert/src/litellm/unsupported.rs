//! Settings of LiteLLM that are known to have no counterpart, and what to do instead.

use crate::source_settings::SourceSettingsTracker;

/// A setting without a counterpart.
struct UnsupportedSetting {
    keys: &'static [&'static str],
    why: &'static str,
    instead: &'static str,
}

/// Of `litellm_params`.
const OF_DEPLOYMENTS: &[UnsupportedSetting] = &[
    UnsupportedSetting {
        keys: &[
            "temperature",
            "max_tokens",
            "top_p",
            "seed",
            "stop",
            "max_completion_tokens",
            "extra_body",
        ],
        why: "the provider's protocol does not have it, or a channel cannot change it",
        instead: "add a step with `default` to the route, see docs/filters/edit_json.md, with the condition `if: model == \"…\"`",
    },
    UnsupportedSetting {
        keys: &["mock_response", "mock_timeout"],
        why: "a channel responds with what its provider sends",
        instead: "run `headgate simulate` and add a channel with its URL",
    },
    UnsupportedSetting {
        keys: &[
            "aws_access_key_id",
            "aws_secret_access_key",
            "aws_session_token",
            "aws_session_name",
            "aws_profile_name",
            "aws_role_name",
            "aws_web_identity_token",
        ],
        why: "the channel authenticates with an API key of Bedrock",
        instead: "create such a key, and set its variable",
    },
    UnsupportedSetting {
        keys: &["tags"],
        why: "channels have no tags",
        instead: "set `if` of the channel to an expression over the request",
    },
    UnsupportedSetting {
        keys: &["additional_drop_params"],
        why: "providers get the caller's bytes with only the model replaced",
        instead: "name the fields in `remove` of a step of the route, see docs/filters/edit_json.md",
    },
    UnsupportedSetting {
        keys: &["litellm_credential_name"],
        why: "credentials belong to one channel",
        instead: "set the variable of the channel's key",
    },
];

/// Of the other sections.
const OF_SECTIONS: &[UnsupportedSetting] = &[
    UnsupportedSetting {
        keys: &[
            "litellm_settings.modify_params",
            "litellm_settings.additional_drop_params",
        ],
        why: "providers get the caller's bytes with only the model replaced",
        instead: "name the fields in `remove` of a step of the route, see docs/filters/edit_json.md",
    },
    UnsupportedSetting {
        keys: &[
            "litellm_settings.success_callback",
            "litellm_settings.failure_callback",
            "litellm_settings.callbacks",
            "litellm_settings.service_callback",
            "litellm_settings.default_team_settings",
            "litellm_settings.langfuse_default_tags",
        ],
        why: "requests are not sent to other logging services",
        instead: "read the access log and /metrics, or set `tracing` for an OpenTelemetry collector",
    },
    UnsupportedSetting {
        keys: &["litellm_settings.include_cost_in_streaming_usage"],
        why: "a response has the usage that its provider reports, without a cost",
        instead: "set `prices`: the access log has the `cost` of each request, and headgate_cost_total adds it up by caller, model and channel",
    },
    UnsupportedSetting {
        keys: &["litellm_settings.guardrails", "guardrails"],
        why: "Headgate has no such guardrail",
        instead: "call a service or run a plugin, see docs/filters/callout.md and docs/plugins.md",
    },
    UnsupportedSetting {
        keys: &[
            "litellm_settings.max_budget",
            "litellm_settings.budget_duration",
            "litellm_settings.max_internal_user_budget",
            "litellm_settings.default_internal_user_params",
        ],
        why: "there are no budgets in money",
        instead: "set `tokens_per_day` or `tokens_per_month` of `callers[].limits`",
    },
    UnsupportedSetting {
        keys: &[
            "router_settings.routing_strategy",
            "router_settings.routing_strategy_args",
        ],
        why: "channels are selected by tier, weight and load only",
        instead: "set `weight`, `tier` and `limits` of the channels",
    },
    UnsupportedSetting {
        keys: &[
            "router_settings.enable_pre_call_checks",
            "router_settings.enable_tag_filtering",
        ],
        why: "channels are selected by tier, weight, limits and conditions only",
        instead: "set `limits` and `if` of the channels",
    },
    UnsupportedSetting {
        keys: &[
            "router_settings.retry_policy",
            "router_settings.allowed_fails_policy",
            "router_settings.model_group_retry_policy",
            "router_settings.retry_after",
        ],
        why: "which errors fail over is fixed, so that no paid request is sent twice",
        instead: "set `failover` of the route and `health` of the channels",
    },
    UnsupportedSetting {
        keys: &[
            "general_settings.proxy_budget_rescheduler_min_time",
            "general_settings.proxy_budget_rescheduler_max_time",
            "general_settings.disable_spend_logs",
            "general_settings.store_prompts_in_spend_logs",
        ],
        why: "there is no database: callers, channels and prices are in routes.yaml",
        instead: "add a caller for each virtual key; prices and the access log have what requests cost",
    },
    UnsupportedSetting {
        keys: &[
            "general_settings.custom_auth",
            "general_settings.enable_jwt_auth",
            "general_settings.litellm_jwtauth",
            "general_settings.enable_oauth2_auth",
        ],
        why: "callers are authenticated by the keys in `callers`",
        instead: "add a caller for each application, or check tokens in a proxy in front",
    },
    UnsupportedSetting {
        keys: &["general_settings.pass_through_endpoints"],
        why: "a route passes requests and responses on as they are",
        instead: "add steps to the route, see docs/filters",
    },
    UnsupportedSetting {
        keys: &[
            "general_settings.alerting",
            "general_settings.alerting_threshold",
            "general_settings.alert_types",
            "general_settings.alerting_args",
        ],
        why: "alerts are rules of Prometheus",
        instead: "load deploy/prometheus/headgate.rules.yaml",
    },
    UnsupportedSetting {
        keys: &[
            "finetune_settings",
            "files_settings",
            "mcp_servers",
            "vector_store_registry",
            "search_tools",
            "litellm_settings.mcp_aliases",
        ],
        why: "Headgate does not serve this API with this provider",
        instead: "let callers send these requests to the provider",
    },
    UnsupportedSetting {
        keys: &["environment_variables"],
        why: "variables are those of the process, and this command copies no value that may be a secret",
        instead: "set them where the process is started, such as EnvironmentFile of systemd",
    },
    UnsupportedSetting {
        keys: &["credential_list"],
        why: "credentials belong to channels",
        instead: "set `credential` of the channels",
    },
];

/// Remarks on the settings of these lists that were not read.
pub fn remark(settings: &mut SourceSettingsTracker) {
    for path in settings.unread() {
        let is_of_deployment = path.starts_with("model_list[");
        let known = match is_of_deployment {
            true => OF_DEPLOYMENTS.iter().find(|one| {
                let key = path.split('.').nth(2).unwrap_or_default();
                let key = key.split('[').next().unwrap_or_default();
                path.contains(".litellm_params.") && one.keys.contains(&key)
            }),
            false => OF_SECTIONS.iter().find(|one| {
                let mut keys = one.keys.iter();
                keys.any(|key| crate::source_settings::is_within(&path, key))
            }),
        };
        if let Some(UnsupportedSetting { why, instead, .. }) = known {
            settings.unconverted(&path, why, instead);
        }
    }
    for path in settings.unread() {
        if path.contains("].model_info.adaptive_router_preferences.strengths[") {
            settings.unconverted(
                &path,
                "requests are not classified by their text",
                "set `weight` of the channels, or let callers name the model",
            );
        } else if path.starts_with("model_list[") && path.contains("].model_info") {
            settings.unconverted(
                &path,
                "of `model_info`, only the prices of tokens have a meaning here",
                "set `models` of routes.yaml, which has what model lists show",
            );
        }
    }
}
