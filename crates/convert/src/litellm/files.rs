//! `files_settings` of a LiteLLM configuration: accounts at providers for files, and for batches of them.

use super::account_url::is_base_url;
use super::{VARIABLE, expanded, secret};
use crate::channel_draft::{
    ChannelDraft, ChannelDraftSettings, CredentialDraft, CredentialForm, MaybeSecretValue,
};
use crate::routes_draft::{FILES_PROTOCOL, FilesDraft};
use crate::scalars;
use crate::source_settings::SourceSettingsTracker;
use serde_json::Value;

/// The provider of requests that name none.
const DEFAULT_PROVIDER: &str = "openai";
const OPENAI_URL: &str = "https://api.openai.com/v1";
const NOTE: &str = "requests name the provider in the header custom-llm-provider, or take openai; the query and the form of an upload are not read for it";

/// The accounts, each with its channel: that of an account of `model_list`, or one of its own, which is added to `channels`.
pub fn read(
    config: &Value,
    channels: &mut Vec<ChannelDraft>,
    settings: &mut SourceSettingsTracker,
) -> Vec<FilesDraft> {
    let entries = config["files_settings"].as_array();
    let entries = entries.map_or(&[][..], Vec::as_slice);
    let mut drafts: Vec<FilesDraft> = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let path = format!("files_settings[{at}]");
        let provider = entry["custom_llm_provider"].as_str().unwrap_or_default();
        let is_known = drafts.iter().any(|draft| draft.provider == provider);
        let Some(account) = account(provider, entry, &path).filter(|_| !is_known) else {
            settings.unconverted(
                &path,
                "files are on accounts of OpenAI and Azure, one of each, with an http or https URL",
                "let callers send these requests to the provider",
            );
            continue;
        };
        for key in ["api_base", "api_key", "api_version"] {
            settings.converted(&format!("{path}.{key}"));
        }
        settings.converted_with_note(&format!("{path}.custom_llm_provider"), NOTE);
        let is_default = provider == DEFAULT_PROVIDER || entries.len() == 1;
        let (channel, is_alone) = account_channel(account, provider, path, channels);
        drafts.push(FilesDraft {
            provider: provider.to_owned(),
            channel: (!is_default || !is_alone).then_some(channel),
            is_default,
        });
    }
    drafts
}

/// The position of the channel of an account, and whether that account has all channels of the file that could be taken instead.
fn account_channel(
    account: ChannelDraftSettings,
    provider: &str,
    path: String,
    channels: &mut Vec<ChannelDraft>,
) -> (usize, bool) {
    let is_same = |settings: &ChannelDraftSettings| {
        settings.base_url == account.base_url
            && same_key(&settings.credentials, &account.credentials)
    };
    // The first channel that serves responses has the files of requests without a model.
    let (mut found, mut is_alone) = (None, true);
    for (at, channel) in channels.iter_mut().enumerate() {
        let settings = &mut channel.settings;
        let is_first = settings.protocols.contains(&"responses");
        if !is_same(settings) || !settings.protocols.contains(&"chat") {
            is_alone &= !is_first;
            continue;
        }
        is_alone &= is_first;
        // A condition is of requests with a model.
        if settings.condition.is_none() && !settings.protocols.contains(&"batches") {
            settings.protocols.push("batches");
        }
        let is_pattern = channel.models.keys().any(|model| model.contains('*'));
        if found.is_none() || is_pattern {
            found = Some(at);
        }
    }
    if let Some(at) = found {
        channels[at].sources.push(path);
        return (at, is_alone);
    }
    let name = format!("{provider}-files");
    channels.push(ChannelDraft {
        models: [(name.clone(), name.clone())].into(),
        name,
        settings: account,
        prices: Default::default(),
        sources: vec![path],
    });
    (channels.len() - 1, false)
}

/// An account that only has files.
fn account(provider: &str, entry: &Value, path: &str) -> Option<ChannelDraftSettings> {
    let base = scalars::text(&entry["api_base"]);
    let base = base.map(|base| base.trim_end_matches('/').to_owned());
    let (base, variable, form) = match provider {
        "openai" => {
            let base = base.unwrap_or_else(|| OPENAI_URL.to_owned());
            (base, "OPENAI_API_KEY", CredentialForm::Bearer)
        }
        "azure" => (base?, "AZURE_API_KEY", CredentialForm::AzureKey),
        _ => return None,
    };
    if !base.starts_with(VARIABLE) && !is_base_url(&base) {
        return None;
    }
    let mut url = expanded(&base);
    if provider == "azure" {
        match scalars::text(&entry["api_version"]) {
            Some(version) => {
                url.push_str("/openai?api-version=");
                url.push_str(&expanded(&version));
            }
            None => url.push_str("/openai/v1"),
        }
    }
    let key = match scalars::text(&entry["api_key"]) {
        Some(key) => secret(&key, &format!("{path}.api_key")),
        None => MaybeSecretValue::Variable(variable.to_owned()),
    };
    let mut account = ChannelDraftSettings::new(url, vec![FILES_PROTOCOL]);
    account
        .credentials
        .push(CredentialDraft { form, value: key });
    Some(account)
}

/// Whether two lists of credentials have one key, wherever the file has it.
fn same_key(one: &[CredentialDraft], other: &[CredentialDraft]) -> bool {
    let ([one], [other]) = (one, other) else {
        return false;
    };
    match (&one.value, &other.value) {
        (
            MaybeSecretValue::Secret { secret: one, .. },
            MaybeSecretValue::Secret { secret: other, .. },
        ) => one.is_some() && one == other,
        (one, other) => one == other,
    }
}
