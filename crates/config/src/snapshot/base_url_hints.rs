//! What is likely a mistake in the base URL of a channel: a version that is missing or there twice, or an endpoint.

use headgate_core::catalog::base_url::BaseUrl;

/// A warning about a base URL.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BaseUrlWarning {
    pub reason: String,
    pub hint: String,
}

/// Endpoint paths that are often pasted into `base_url` from a provider's documentation.
const ENDPOINTS: [&str; 9] = [
    "/chat/completions",
    "/messages",
    "/responses",
    "/images/edits",
    "/images/generations",
    "/embeddings",
    "/audio/speech",
    "/moderations",
    "/models",
];

/// Hosts whose APIs all lie below one path, and that path. Hosts that have the same API at several paths are not here.
const PATHS_OF_HOSTS: [(&str, &str); 12] = [
    ("api.openai.com", "/v1"),
    ("api.anthropic.com", "/v1"),
    ("api.mistral.ai", "/v1"),
    ("api.x.ai", "/v1"),
    ("api.together.xyz", "/v1"),
    ("api.cerebras.ai", "/v1"),
    ("api.moonshot.ai", "/v1"),
    ("integrate.api.nvidia.com", "/v1"),
    ("api.groq.com", "/openai/v1"),
    ("api.fireworks.ai", "/inference/v1"),
    ("openrouter.ai", "/api/v1"),
    ("generativelanguage.googleapis.com", "/v1beta"),
];

/// The warning about a base URL, if something in it is likely a mistake.
pub(super) fn warning(base: &BaseUrl) -> Option<BaseUrlWarning> {
    let path = &*base.path;
    if let Some(endpoint) = ENDPOINTS.iter().find(|endpoint| path.ends_with(**endpoint)) {
        return Some(BaseUrlWarning {
            reason: format!(
                "requests would go to `…{endpoint}{endpoint}`: the request path is appended to `base_url`"
            ),
            hint: format!("write the URL without `{endpoint}`"),
        });
    }
    if let Some(version) = repeated_version(path) {
        return Some(BaseUrlWarning {
            reason: format!("`base_url` has `/{version}` twice"),
            hint: format!("write `/{version}` once: the request path is appended without its own"),
        });
    }
    let (host, expected) = PATHS_OF_HOSTS
        .iter()
        .find(|(host, _)| *base.host == **host)?;
    // A path of its own may be that of another API of the provider.
    let rest = expected.strip_prefix(path);
    let is_cut = rest.is_some_and(|rest| rest.starts_with('/'));
    is_cut.then(|| BaseUrlWarning {
        reason: format!("the API of `{host}` is below `{expected}`, which `base_url` lacks: the `/v1` of request paths is not sent"),
        hint: format!("write `https://{host}{expected}`"),
    })
}

/// The version segment that a path has twice, one after the other.
fn repeated_version(path: &str) -> Option<&str> {
    let is_version = |segment: &str| {
        let digits = segment.strip_prefix('v').unwrap_or_default();
        digits.starts_with(|digit: char| digit.is_ascii_digit())
    };
    let segments: Vec<&str> = path.split('/').collect();
    let mut pairs = segments.windows(2);
    let found = pairs.find(|pair| pair[0] == pair[1] && is_version(pair[0]));
    found.map(|pair| pair[0])
}

#[cfg(test)]
mod tests {
    use super::warning;
    use headgate_core::catalog::base_url;

    #[test]
    fn a_likely_mistake_is_reported_with_what_to_write() {
        for (url, hint) in [
            ("https://api.openai.com", "`https://api.openai.com/v1`"),
            ("https://api.openai.com/", "`https://api.openai.com/v1`"),
            (
                "https://api.anthropic.com",
                "`https://api.anthropic.com/v1`",
            ),
            (
                "https://api.groq.com/openai",
                "`https://api.groq.com/openai/v1`",
            ),
            (
                "https://openrouter.ai/api",
                "`https://openrouter.ai/api/v1`",
            ),
            (
                "https://generativelanguage.googleapis.com",
                "`https://generativelanguage.googleapis.com/v1beta`",
            ),
            ("https://x.example/v1/v1", "`/v1` once"),
            ("https://x.example/api/v3/v3/", "`/v3` once"),
            ("https://x.example/v1beta/v1beta/openai", "`/v1beta` once"),
            (
                "https://x.example/v1/chat/completions",
                "without `/chat/completions`",
            ),
            ("https://x.example/v1/messages/", "without `/messages`"),
            ("https://x.example/v1/embeddings", "without `/embeddings`"),
        ] {
            let found = warning(&base_url::parse(url).unwrap());
            let found = found.unwrap_or_else(|| panic!("{url}"));
            assert!(found.hint.contains(hint), "{url}: {}", found.hint);
        }
    }

    #[test]
    fn base_urls_that_work_have_no_warning() {
        for url in [
            "https://api.openai.com/v1",
            "https://eu.api.openai.com/v1",
            "https://api.anthropic.com/v1/",
            "https://api.groq.com/openai/v1",
            "https://api.deepseek.com",
            "https://api.perplexity.ai",
            "https://openrouter.ai/api/v1",
            "https://gateway.ai.cloudflare.com/v1/account/gateway/openai",
            "https://x.openai.azure.com/openai/deployments/{model}",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "https://generativelanguage.googleapis.com/v1",
            "https://api.deepinfra.com/v1/openai",
            "https://x.example",
            "https://x.example/v1/proxy/v1",
            "https://x.example/video/video",
            "http://127.0.0.1:9100/v1",
        ] {
            assert_eq!(warning(&base_url::parse(url).unwrap()), None, "{url}");
        }
    }
}
