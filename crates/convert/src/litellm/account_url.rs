//! The base URL of an entry of `model_list`: that of the file, or that of the provider.

use super::deployment::DeploymentRejection;
use super::providers::LitellmProvider;
use super::{VARIABLE, bedrock, expanded, vertex};
use crate::scalars;
use http::Uri;
use serde_json::Value;

/// The base URL of an account.
pub struct AccountUrl {
    /// As routes.yaml has it.
    pub text: String,
    /// Whether it is the provider's own.
    pub is_official: bool,
    /// Whether it is that of Azure's dated API, which has chat, but no responses.
    pub is_dated: bool,
}

/// The base URL; `has_probes` of channels that are probed, which must have no model in it.
pub fn account_url(
    provider: &LitellmProvider,
    params: &Value,
    has_probes: bool,
) -> Result<AccountUrl, DeploymentRejection> {
    let given = params["api_base"].as_str().or(params["base_url"].as_str());
    let given = given.filter(|url| !url.is_empty());
    let official = AccountUrl {
        text: String::new(),
        is_official: true,
        is_dated: false,
    };
    let (url, is_official) = match (given, provider.default_url) {
        (Some(url), default) => (url, default == Some(url.trim_end_matches('/'))),
        (None, _) if provider.prefix == "bedrock" => {
            let text = format!("{}{}", bedrock::url(provider, params), provider.path);
            return Ok(AccountUrl { text, ..official });
        }
        (None, _) if provider.prefix == "vertex_ai" => {
            let text = vertex::url(provider, params);
            return Ok(AccountUrl { text, ..official });
        }
        (None, Some(default)) => (default, true),
        (None, None) => {
            return Err(DeploymentRejection {
                why: "the entry has no `api_base`, and the provider has no URL of its own".into(),
                instead: "add a channel with the URL of your server",
            });
        }
    };
    let url = url.trim_end_matches('/');
    if !url.starts_with(VARIABLE) && !is_base_url(url) {
        return Err(DeploymentRejection {
            why: "`api_base` is not an http or https URL without user, query and fragment".into(),
            instead: "add a channel with such a URL; its secrets belong into `credential`",
        });
    }
    let url = match provider.prefix {
        "anthropic" | "cohere" => url
            .trim_end_matches("/messages")
            .trim_end_matches("/rerank")
            .trim_end_matches("/v1")
            .trim_end_matches("/v2"),
        // The old API has the deployment in the path.
        "azure" => url.split("/openai/").next().unwrap_or(url),
        "azure_ai" => url.split("/anthropic").next().unwrap_or(url),
        _ => url,
    };
    let mut text = expanded(url);
    let version = dated_version(provider, params).filter(|_| !has_probes);
    if let Some(version) = &version {
        text.push_str("/openai/deployments/{model}?api-version=");
        text.push_str(&expanded(version));
    } else if !text.ends_with(provider.path) {
        text.push_str(provider.path);
    }
    Ok(AccountUrl {
        text,
        is_official,
        is_dated: version.is_some(),
    })
}

/// Whether a channel can have this base URL.
pub fn is_base_url(url: &str) -> bool {
    let is_http = url.starts_with("https://") || url.starts_with("http://");
    let parsed = url.parse::<Uri>();
    is_http
        && !url.contains('#')
        && parsed.is_ok_and(|uri| {
            let host = uri.host().is_some_and(|host| !host.is_empty());
            let user = uri
                .authority()
                .is_some_and(|whole| whole.as_str().contains('@'));
            host && !user && uri.query().is_none()
        })
}

/// `api_version` of a deployment at Azure, if it is a date.
fn dated_version(provider: &LitellmProvider, params: &Value) -> Option<String> {
    let version = scalars::text(&params["api_version"]).filter(|_| provider.prefix == "azure")?;
    let is_date = |text: &str| {
        let mut chars = text.chars();
        text.starts_with("20") && chars.all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    (version.starts_with(VARIABLE) || is_date(&version)).then_some(version)
}
