//! `headgate check --strict`: connects to every channel and service, and requests lists of models; nothing that costs.

use super::CommandError;
use super::progress::ProgressLine;
use super::style::{self, styled};
use headgate_config::snapshot::Snapshot;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::credential::Credential;
use headgate_core::credentials::credential_registry::CredentialRegistry;
use headgate_gateway::connectivity::{
    ConnectivityChecker, ConnectivityError, RawModelListResponse,
};
use http::StatusCode;
use serde_json::Value;
use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// The timeout of each step.
const STEP_TIMEOUT: Duration = Duration::from_secs(5);
/// How often the progress is updated.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);
/// Channels and services that are checked at one time.
const CONCURRENT_MAX: usize = 8;
/// Missing models that are named.
const MODELS_NAMED_MAX: usize = 5;

/// What was found about a channel or a service.
struct StrictCheckResult {
    /// Such as `channel openai`.
    subject: String,
    status: StrictCheckStatus,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StrictCheckStatus {
    Ok,
    Warning,
    Failed,
}

/// A check that is not started.
type ServerCheck = Pin<Box<dyn Future<Output = StrictCheckResult> + Send>>;

/// Checks all channels and services, and prints a line for each.
///
/// # Errors
/// One of them failed.
pub fn run(snapshot: &Snapshot, credentials: &CredentialRegistry) -> Result<(), CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let findings = runtime.block_on(findings(snapshot, credentials));
    let width = findings.iter().map(|finding| finding.subject.len()).max();
    let width = width.unwrap_or(0);
    for StrictCheckResult {
        subject,
        status,
        text,
    } in &findings
    {
        let (status, style) = match status {
            StrictCheckStatus::Ok => ("ok", style::GOOD),
            StrictCheckStatus::Warning => ("warning", style::WARNING),
            StrictCheckStatus::Failed => ("failed", style::BAD),
        };
        let status = styled(style, format_args!("{status:<7}"));
        anstream::println!("{subject:<width$}  {status}  {text}");
    }
    let count = findings.len();
    let failed = findings
        .iter()
        .filter(|finding| finding.status == StrictCheckStatus::Failed)
        .count();
    match failed {
        0 => Ok(()),
        failed => Err(CommandError::new(format!(
            "error: {failed} of {count} channels and services failed"
        ))),
    }
}

/// The findings in the order of the names, channels first.
async fn findings(snapshot: &Snapshot, credentials: &CredentialRegistry) -> Vec<StrictCheckResult> {
    let check = Arc::new(ConnectivityChecker::new(&snapshot.server.dns, STEP_TIMEOUT));
    check.fetch_credentials(credentials).await;
    let mut waiting = checks(snapshot, &check).into_iter().enumerate();
    let mut progress = ProgressLine::new("checked", waiting.len());
    let mut updates = tokio::time::interval(PROGRESS_INTERVAL);
    let mut running = JoinSet::new();
    let mut findings = Vec::new();
    loop {
        while running.len() < CONCURRENT_MAX
            && let Some((index, check)) = waiting.next()
        {
            running.spawn(async move { (index, check.await) });
        }
        tokio::select! {
            ended = running.join_next() => match ended {
                Some(ended) => findings.push(ended.expect("a check does not panic")),
                None => break,
            },
            _ = updates.tick() => progress.update(findings.len()),
        }
    }
    findings.sort_by_key(|(index, _)| *index);
    findings.into_iter().map(|(_, finding)| finding).collect()
}

fn checks(snapshot: &Snapshot, check: &Arc<ConnectivityChecker>) -> Vec<ServerCheck> {
    let mut checks: Vec<ServerCheck> = Vec::new();
    for channel in snapshot.catalog.channels() {
        let (check, channel) = (check.clone(), channel.clone());
        let models = channel_models(snapshot, &channel);
        checks.push(Box::pin(async move {
            let (status, text) = check_channel(&check, &channel, &models).await;
            StrictCheckResult {
                subject: format!("channel {}", channel.name),
                status,
                text,
            }
        }));
    }
    for service in snapshot.services.iter() {
        let (check, service) = (check.clone(), service.clone());
        checks.push(Box::pin(async move {
            let (status, text) = check_service(&check, service.server(), &service.name).await;
            StrictCheckResult {
                subject: format!("service {}", service.name),
                status,
                text,
            }
        }));
    }
    checks
}

async fn check_service(
    check: &ConnectivityChecker,
    server: &Channel,
    name: &str,
) -> (StrictCheckStatus, String) {
    match check.connect(server).await {
        Ok(()) => (StrictCheckStatus::Ok, connected(server)),
        Err(error) => (
            StrictCheckStatus::Failed,
            with_hint(&error, &format!("services.{name}.url")),
        ),
    }
}

async fn check_channel(
    check: &ConnectivityChecker,
    channel: &Channel,
    models: &BTreeSet<Arc<str>>,
) -> (StrictCheckStatus, String) {
    let key = format!("channels.{}.base_url", channel.name);
    if let Err(error) = check.connect(channel).await {
        return (StrictCheckStatus::Failed, with_hint(&error, &key));
    }
    if channel.origin.base_path.names_model() {
        let text = format!(
            "{}; the credential was not used: a list of models has no place below a `base_url` with `{{model}}`",
            connected(channel)
        );
        return (StrictCheckStatus::Ok, text);
    }
    let mut protocols = channel.protocols.iter();
    if !protocols.any(|protocol| protocol.descriptor().has_model_list) {
        let connected = connected(channel);
        return (
            StrictCheckStatus::Ok,
            format!(
                "{connected}; the credential was not used: its protocols have no list of models"
            ),
        );
    }
    let credentials: Vec<Option<&Credential>> = match channel.credentials.is_empty() {
        true => vec![None],
        false => channel.credentials.iter().map(Some).collect(),
    };
    let mut result = (StrictCheckStatus::Ok, connected(channel));
    for (index, credential) in credentials.into_iter().enumerate() {
        result = match check.list_models(channel, credential, None).await {
            Err(error) => (StrictCheckStatus::Failed, with_hint(&error, &key)),
            Ok(response) => match other_base_path(check, channel, credential, &response).await {
                Some(path) => (StrictCheckStatus::Failed, wrong_version(channel, &path)),
                None => check_response(channel, index + 1, &response, models),
            },
        };
        if result.0 == StrictCheckStatus::Failed {
            break;
        }
    }
    result
}

/// The base path at which the provider has its list of models, if it has none at that of `base_url`: with `/v1`, or without
/// one of two.
async fn other_base_path(
    check: &ConnectivityChecker,
    channel: &Channel,
    credential: Option<&Credential>,
    response: &RawModelListResponse,
) -> Option<String> {
    if response.status == StatusCode::OK && is_list(&response.body)
        || !is_about_path(response.status)
    {
        return None;
    }
    let path = channel.origin.base_path.text();
    let other = match path.strip_suffix("/v1") {
        None => format!("{path}/v1"),
        Some(shorter) => shorter.to_owned(),
    };
    let mut list = format!("{other}/models");
    channel.query.set_in(&mut list);
    let found = check
        .list_models(channel, credential, Some(list))
        .await
        .ok()?;
    (found.status == StatusCode::OK && is_list(&found.body)).then_some(other)
}

/// Whether a status may mean that the path is another one; a page may be at any path.
fn is_about_path(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::OK | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
    )
}

fn is_list(body: &[u8]) -> bool {
    let list: Value = serde_json::from_slice(body).unwrap_or_default();
    list["data"].is_array()
}

fn wrong_version(channel: &Channel, path: &str) -> String {
    let (name, origin) = (&channel.name, &channel.origin);
    let authority = origin.authority.to_str().unwrap_or_default();
    let scheme = origin.scheme();
    let problem = match path.len() > origin.base_path.text().len() {
        true => "lacks its `/v1`",
        false => "has a `/v1` too many",
    };
    format!(
        "{}; `channels.{name}.base_url` {problem}: the provider has its list of models at `{path}/models`; write `{scheme}://{authority}{path}`",
        connected(channel)
    )
}

/// What the response to a request with credential `number` says.
fn check_response(
    channel: &Channel,
    number: usize,
    response: &RawModelListResponse,
    models: &BTreeSet<Arc<str>>,
) -> (StrictCheckStatus, String) {
    let name = &channel.name;
    let connected = connected(channel);
    let status = response.status;
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            let credential = match channel.credentials.len() {
                0 => "a request without a credential".to_owned(),
                1 => "the credential".to_owned(),
                _ => format!("credential {number}"),
            };
            let text = format!(
                "the provider refused {credential} with {status}; set a valid key in `channels.{name}.credential`"
            );
            (StrictCheckStatus::Failed, text)
        }
        StatusCode::TOO_MANY_REQUESTS => {
            let text = format!("{connected}; the provider limits requests now ({status})");
            (StrictCheckStatus::Warning, text)
        }
        status if status.is_server_error() => (
            StrictCheckStatus::Failed,
            format!("the provider responded with {status}; try again, or ask the provider"),
        ),
        StatusCode::OK => check_list(connected, &response.body, models),
        status => {
            let text = format!(
                "{connected}; no list of models ({status}); check `channels.{name}.base_url` if requests fail"
            );
            (StrictCheckStatus::Warning, text)
        }
    }
}

/// Whether the list has all models of the channel. Lists that have further pages are not compared.
fn check_list(
    connected: String,
    body: &[u8],
    models: &BTreeSet<Arc<str>>,
) -> (StrictCheckStatus, String) {
    let list: Value = serde_json::from_slice(body).unwrap_or_default();
    let Some(items) = list["data"].as_array() else {
        let text = format!("{connected}; the response is not a list of models; check `base_url`");
        return (StrictCheckStatus::Warning, text);
    };
    let listed: BTreeSet<&str> = items
        .iter()
        .filter_map(|item| item["id"].as_str())
        .collect();
    let missing: Vec<&str> = models
        .iter()
        .map(|name| &**name)
        .filter(|name| !listed.contains(name))
        .collect();
    let count = listed.len();
    if missing.is_empty() || list["has_more"] == true {
        return (
            StrictCheckStatus::Ok,
            format!("{connected}; the provider lists {count} models"),
        );
    }
    let mut named = missing.clone();
    named.truncate(MODELS_NAMED_MAX);
    let more = match missing.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let text = format!(
        "{connected}; the provider lists {count} models, without `{}`{more}",
        named.join("`, `")
    );
    (StrictCheckStatus::Warning, text)
}

/// The names that the channel has for its models.
fn channel_models(snapshot: &Snapshot, channel: &Channel) -> BTreeSet<Arc<str>> {
    let models = snapshot.catalog.models();
    let candidates = models.flat_map(|model| model.all_candidates.iter());
    candidates
        .filter(|candidate| candidate.channel.name == channel.name)
        .filter_map(|candidate| Some(candidate.model.as_ref()?.name.clone()))
        .collect()
}

fn connected(server: &Channel) -> String {
    let origin = &server.origin;
    let tls = match origin.tls {
        Some(_) => " with TLS",
        None => "",
    };
    let proxy = origin.proxy.as_ref();
    let proxy = proxy.map_or(String::new(), |proxy| format!(" through {proxy}"));
    format!("connected to {}:{}{tls}{proxy}", origin.host, origin.port)
}

/// The error, and what to do about it; `key` is the setting with the URL.
fn with_hint(error: &ConnectivityError, key: &str) -> String {
    let hint = match error {
        ConnectivityError::Resolve { .. } => format!("check the host in `{key}`, and DNS"),
        ConnectivityError::Connect { .. } => {
            format!("check host and port in `{key}`, and that this machine may connect there")
        }
        ConnectivityError::Tls { .. } => {
            "check the certificate of the server; for a CA of your own, set `tls.ca`".into()
        }
        ConnectivityError::Proxy { .. } => {
            "check `proxy` of the channel, and that the proxy permits this server".into()
        }
        ConnectivityError::Credential(_) => {
            "check `credential` of the channel, and the account at the server that issues it".into()
        }
        ConnectivityError::Response { .. } => {
            format!("check that `{key}` leads to the API of the provider")
        }
    };
    format!("{error}; {hint}")
}
