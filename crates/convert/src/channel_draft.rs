//! A channel of the result, before it has a name, and how channels get their names and variables.

use super::naming::{TakenNames, variable};
use super::source_settings::SourceSettingsTracker;
use std::collections::BTreeMap;

/// A channel of the result.
#[derive(Clone, Debug)]
pub struct ChannelDraft {
    /// The name; a wish until [`name_all`] has made it a name of its own.
    pub name: String,
    pub settings: ChannelDraftSettings,
    /// Platform models, each with the provider's name for it.
    pub models: BTreeMap<String, String>,
    /// Prices by platform model, each by its key.
    pub prices: BTreeMap<String, Vec<(&'static str, String)>>,
    /// Paths of the source that the channel comes from.
    pub sources: Vec<String>,
}

/// What models of a channel share: models of equal settings are of one channel.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelDraftSettings {
    /// As routes.yaml has it, variables included.
    pub base_url: String,
    pub credentials: Vec<CredentialDraft>,
    /// The names that the protocols have in `routes.yaml`.
    pub protocols: Vec<&'static str>,
    /// The value of `cloud`.
    pub cloud: Option<&'static str>,
    pub headers: Vec<(String, MaybeSecretValue)>,
    pub weight: Option<u64>,
    pub tier: u8,
    pub timeout_ms: Option<u64>,
    /// That of streams, if they have one of their own.
    pub stream_timeout_ms: Option<u64>,
    pub concurrent: Option<u64>,
    pub requests_per_minute: Option<u64>,
    pub tokens_per_minute: Option<u64>,
    pub health: HealthDraft,
    /// The name that the source has for the account.
    pub id: Option<String>,
    /// An expression over requests that the channel is for.
    pub condition: Option<String>,
    /// Values of members that a request lacks, by their pointers, as routes.yaml has them.
    pub defaults: Vec<(String, String)>,
    /// Members that are removed from requests.
    pub removals: Vec<FieldRemoval>,
}

/// Members of the body that are removed, by their pointers.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldRemoval {
    /// How the provider's names of these models begin; none for all.
    pub models: &'static [&'static str],
    pub fields: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HealthDraft {
    pub consecutive_failures: Option<u64>,
    pub cool_down_ms: Option<u64>,
    pub probe_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CredentialDraft {
    pub form: CredentialForm,
    pub value: MaybeSecretValue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialForm {
    Bearer,
    /// `x-api-key`
    ApiKey,
    /// `api-key`, of Azure
    AzureKey,
    /// The file of a service account of Google, whose tokens the gateway fetches.
    ServiceAccountFile,
}

/// A value that may be a secret.
#[derive(Clone, Debug, PartialEq)]
pub enum MaybeSecretValue {
    /// As routes.yaml has it.
    Plain(String),
    Variable(String),
    /// A secret of the source, which becomes a variable of the channel; `None` if the source does not have it.
    Secret {
        path: String,
        secret: Option<String>,
    },
}

impl ChannelDraftSettings {
    pub fn new(base_url: String, protocols: Vec<&'static str>) -> Self {
        Self {
            base_url,
            credentials: Vec::new(),
            protocols,
            cloud: None,
            headers: Vec::new(),
            weight: None,
            tier: 0,
            timeout_ms: None,
            stream_timeout_ms: None,
            concurrent: None,
            requests_per_minute: None,
            tokens_per_minute: None,
            health: HealthDraft::default(),
            id: None,
            condition: None,
            defaults: Vec::new(),
            removals: Vec::new(),
        }
    }
}

/// Gives each channel a name of its own, and each secret a variable with a note.
pub fn name_all(channels: &mut [ChannelDraft], settings: &mut SourceSettingsTracker) {
    let mut names = TakenNames::default();
    let mut variables = SecretVariables::new(channels);
    for channel in channels {
        channel.name = names.channel(&channel.name);
        let name = &channel.name;
        for credential in &mut channel.settings.credentials {
            variables.replace(&mut credential.value, name, "API_KEY", settings);
        }
        for (header, value) in &mut channel.settings.headers {
            let suffix = variable(&TakenNames::default().channel(header), "HEADER");
            variables.replace(value, name, &suffix, settings);
        }
    }
}

/// The variables of the result: those of the source, and those that stand for its secrets.
struct SecretVariables {
    taken: TakenNames,
    of_secrets: BTreeMap<String, String>,
}

impl SecretVariables {
    fn new(channels: &[ChannelDraft]) -> Self {
        let settings = channels.iter().map(|channel| &channel.settings);
        let values = settings.flat_map(|settings| {
            let credentials = settings.credentials.iter().map(|one| &one.value);
            credentials.chain(settings.headers.iter().map(|(_, value)| value))
        });
        let named = values.filter_map(|value| match value {
            MaybeSecretValue::Variable(name) => Some(name.clone()),
            MaybeSecretValue::Plain(_) | MaybeSecretValue::Secret { .. } => None,
        });
        Self {
            taken: TakenNames::new(named.collect()),
            of_secrets: BTreeMap::new(),
        }
    }

    /// Makes a secret a variable; equal secrets are one variable.
    fn replace(
        &mut self,
        value: &mut MaybeSecretValue,
        channel: &str,
        suffix: &str,
        settings: &mut SourceSettingsTracker,
    ) {
        let MaybeSecretValue::Secret { path, secret } = value else {
            return;
        };
        let known = secret
            .as_ref()
            .and_then(|secret| self.of_secrets.get(secret));
        let name = match known {
            Some(known) => known.clone(),
            None => self.taken.numbered(&variable(channel, suffix), '_'),
        };
        let note = match secret {
            Some(_) => format!("the secret is not copied; set the variable {name} to it"),
            None => format!("the file does not have the secret; set the variable {name} to it"),
        };
        settings.note(path, note);
        if let Some(secret) = secret.take() {
            self.of_secrets.insert(secret, name.clone());
        }
        *value = MaybeSecretValue::Variable(name);
    }
}
