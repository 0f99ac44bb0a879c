//! Settings of LiteLLM that need none here: what does their work without one, or where it is set.

use crate::source_settings::{SourceSettingsTracker, is_within};

/// Settings, and what does their work here.
struct CoveredSetting {
    keys: &'static [&'static str],
    note: &'static str,
}

/// Of entries of `model_list`, by the path below the entry.
const OF_DEPLOYMENTS: &[CoveredSetting] = &[
    CoveredSetting {
        keys: &["litellm_params.api_version"],
        note: "only Azure's dated API has versions, and the channel does not use it: nothing is to be done, unless the resource has no v1 API",
    },
    CoveredSetting {
        keys: &["litellm_params.region_name"],
        note: "in LiteLLM only users whose record in its database has `allowed_model_region` are bound to it. For callers who are, write `if: !(caller in [\"…\"])` into the channels of other regions",
    },
    CoveredSetting {
        keys: &["model_info.base_model"],
        note: "Headgate has no table of what models cost and take: write the prices of this model into `prices` of the channel, and its `context_window` into `models`",
    },
    CoveredSetting {
        keys: &[
            "model_info.supports_vision",
            "model_info.supports_audio_input",
            "model_info.supports_audio_output",
            "model_info.supports_pdf_input",
            "model_info.supports_prompt_caching",
            "model_info.supports_function_calling",
            "model_info.supports_parallel_function_calling",
            "model_info.supports_web_search",
            "model_info.supports_reasoning",
        ],
        note: "images, sound, documents and tools go to every model as they are, and the provider refuses what its model does not take; a `profile` in `models` refuses them before",
    },
];

/// Of the other sections.
const OF_SECTIONS: &[CoveredSetting] = &[
    CoveredSetting {
        keys: &[
            "litellm_settings.set_verbose",
            "router_settings.set_verbose",
            "router_settings.debug_level",
        ],
        note: "the log level is that of the variable RUST_LOG of the process, here RUST_LOG=headgate=debug",
    },
    CoveredSetting {
        keys: &[
            "general_settings.database_url",
            "general_settings.store_model_in_db",
            "general_settings.database_connection_pool_limit",
            "general_settings.database_connection_timeout",
        ],
        note: "models and callers are in this file, which is read again when it changes, and ids and counts are in `state`. What only LiteLLM's database has is to be added here: models as channels, and a caller for each virtual key",
    },
    CoveredSetting {
        keys: &[
            "general_settings.use_redis_transaction_buffer",
            "general_settings.proxy_batch_write_at",
        ],
        note: "counts of requests and tokens are in `state` at once, in Redis for all gateways together, and there is no database whose writes are to be gathered",
    },
];

/// The settings of these lists that were not read are marked, with a note.
pub fn remark(settings: &mut SourceSettingsTracker) {
    for path in settings.unread() {
        let below_entry = path
            .strip_prefix("model_list[")
            .and_then(|rest| rest.split_once("]."))
            .map(|(_, below)| below);
        let (list, path_of_key) = match below_entry {
            Some(below) => (OF_DEPLOYMENTS, below),
            None => (OF_SECTIONS, path.as_str()),
        };
        let covered = list.iter().find(|one| {
            let mut keys = one.keys.iter();
            keys.any(|key| is_within(path_of_key, key))
        });
        if let Some(covered) = covered {
            settings.converted_with_note(&path, covered.note);
        }
        // An empty list.
        if path.ends_with(".adaptive_router_preferences.strengths") {
            settings.converted(&path);
        }
    }
}
