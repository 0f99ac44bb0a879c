//! Fetches the keys of issuers in the background: before they age, and when a token names an unknown one.

use super::issuer_keys::{FetchedKeySet, IssuerKeySets, IssuerKeys};
use super::key_source::{KeySource, key_egress, parse_key_url};
use crate::token::key_set::TokenKeySet;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::feature::background::BackgroundContext;
use headgate_core::filter::fetch::{FetchLimits, FetchedFile, ResponseFileFetcher};
use headgate_protocol::json::{DocumentNode, JsonDocument, JsonLimits};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

const LIMITS: FetchLimits = FetchLimits {
    bytes: 64 << 10,
    within: Duration::from_secs(5),
    redirects: 0,
};
const DISCOVERY: JsonLimits = JsonLimits {
    depth: 16,
    values: 4_096,
};
/// How long keys are used without a word of the issuer.
const FRESH: Duration = Duration::from_secs(60 * 60);
/// The bounds of what an issuer may say.
const FRESH_MIN: Duration = Duration::from_secs(5 * 60);
const FRESH_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest time without a look at what is due.
const IDLE: Duration = Duration::from_secs(60);

/// Fetches keys, while the process serves.
pub(crate) async fn run(context: BackgroundContext) {
    let current = || (context.current)();
    let sets = current().features.get::<IssuerKeySets>();
    let mut fetches = JoinSet::new();
    loop {
        let now = Instant::now();
        let (due, next) = sets.due(now);
        for keys in due {
            keys.begin_fetch(now);
            let egress = current().egress;
            let files = context.files.clone();
            fetches.spawn(async move { refresh(&keys, &*files, &egress).await });
        }
        let next = next.map_or(now + IDLE, |next| next.min(now + IDLE));
        tokio::select! {
            () = sleep_until(next) => {}
            () = sets.wake.notified() => {}
            Some(_) = fetches.join_next() => {}
        }
    }
}

async fn refresh(keys: &Arc<IssuerKeys>, files: &dyn ResponseFileFetcher, egress: &EgressPolicy) {
    let mut guard = FetchGuard {
        keys,
        is_ended: false,
    };
    let fetching = timeout(LIMITS.within, fetch(&keys.source, files, egress));
    let fetched = fetching.await.unwrap_or_else(|_| {
        let seconds = LIMITS.within.as_secs();
        Err(format!("the issuer did not respond within {seconds} s"))
    });
    let url = keys.source.url();
    match &fetched {
        Err(error) => tracing::warn!(url, error, "keys of an issuer cannot be fetched"),
        Ok(FetchedKeySet { keys, .. }) if keys.ignored > 0 => {
            let ignored = keys.ignored;
            tracing::warn!(url, ignored, "an issuer has more keys than are used");
        }
        Ok(_) => {}
    }
    guard.is_ended = true;
    keys.end_fetch(fetched, Instant::now());
}

/// Ends a fetch whose future was dropped, so that the next one can begin.
struct FetchGuard<'k> {
    keys: &'k IssuerKeys,
    is_ended: bool,
}

impl Drop for FetchGuard<'_> {
    fn drop(&mut self) {
        if !self.is_ended {
            let cancelled = Err("the fetch was cancelled".to_owned());
            self.keys.end_fetch(cancelled, Instant::now());
        }
    }
}

async fn fetch(
    source: &KeySource,
    files: &dyn ResponseFileFetcher,
    egress: &EgressPolicy,
) -> Result<FetchedKeySet, String> {
    let url = source.url();
    let egress = key_egress(&parse_key_url(&url)?, egress);
    let fetch = |url: String| {
        let egress = &egress;
        async move {
            let fetched = files.fetch(&url, egress, LIMITS).await;
            fetched.map_err(|error| error.to_string())
        }
    };
    let mut file = fetch(url).await?;
    if let KeySource::Discovery(issuer) = source {
        file = fetch(discovered_url(issuer, file)?).await?;
    }
    let fresh_for = freshness(file.cache_control.as_deref());
    let keys = TokenKeySet::parse(file.content).map_err(|error| error.to_string())?;
    Ok(FetchedKeySet { keys, fresh_for })
}

/// The URL of the keys in the document of an issuer, which must be that of this one.
fn discovered_url(issuer: &str, file: FetchedFile) -> Result<String, String> {
    let document = JsonDocument::parse(file.content, &DISCOVERY);
    let document = document.map_err(|_| "the document of discovery is not JSON")?;
    let text = |name| document.root().get(name).and_then(DocumentNode::as_str);
    if text("issuer").as_deref() != Some(issuer) {
        return Err("the document of discovery is that of another issuer".to_owned());
    }
    let url = text("jwks_uri").ok_or("the document of discovery has no `jwks_uri`")?;
    parse_key_url(&url).map_err(|error| format!("`jwks_uri`: {error}"))?;
    Ok(url.into_owned())
}

/// How long keys may be used by the header `cache-control`.
fn freshness(cache_control: Option<&str>) -> Duration {
    let directives = cache_control.unwrap_or_default().split(',');
    let mut directives = directives.map(|directive| directive.trim().to_ascii_lowercase());
    let fresh = directives.find_map(|directive| match directive.as_str() {
        "no-store" | "no-cache" => Some(FRESH_MIN),
        other => {
            let seconds = other.strip_prefix("max-age=")?.parse().ok()?;
            Some(Duration::from_secs(seconds))
        }
    });
    fresh.unwrap_or(FRESH).clamp(FRESH_MIN, FRESH_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::filter::fetch::{
        FetchFuture, FileCredential, OpenFileFuture, UrlCheckFuture,
    };
    use http::HeaderMap;

    #[test]
    fn an_issuer_names_how_long_its_keys_are_fresh_within_bounds() {
        for (header, seconds) in [
            (None, 3_600),
            (Some("public"), 3_600),
            (Some("public, max-age=7200"), 7_200),
            (Some("Max-Age=7200, must-revalidate"), 7_200),
            (Some("max-age=0"), 300),
            (Some("no-store"), 300),
            (Some("max-age=31536000"), 86_400),
            (Some("max-age=-1"), 3_600),
        ] {
            assert_eq!(freshness(header).as_secs(), seconds, "{header:?}");
        }
    }

    #[test]
    fn a_document_of_discovery_must_be_that_of_the_issuer() {
        let found = |document: &str| {
            let file = FetchedFile {
                content_type: None,
                cache_control: None,
                content: document.to_owned().into(),
            };
            discovered_url("https://login.example", file)
        };
        let right = r#"{"issuer":"https://login.example","jwks_uri":"https://keys.example/k"}"#;
        assert_eq!(found(right).unwrap(), "https://keys.example/k");
        for wrong in [
            "",
            "[]",
            "{}",
            r#"{"issuer":"https://login.example"}"#,
            r#"{"issuer":"https://login.example/","jwks_uri":"https://keys.example/k"}"#,
            r#"{"issuer":"https://other.example","jwks_uri":"https://keys.example/k"}"#,
            r#"{"issuer":"https://login.example","jwks_uri":"http://keys.example/k"}"#,
            r#"{"issuer":"https://login.example","jwks_uri":"file:///etc/keys"}"#,
            r#"{"issuer":"https://login.example","issuer":"x","jwks_uri":"https://keys.example/k"}"#,
        ] {
            assert!(found(wrong).is_err(), "{wrong}");
        }
    }

    /// An issuer whose document of discovery comes late, and whose keys never come.
    struct SlowIssuer(Duration);

    impl ResponseFileFetcher for SlowIssuer {
        fn fetch<'a>(
            &'a self,
            url: &'a str,
            _: &'a EgressPolicy,
            _: FetchLimits,
        ) -> FetchFuture<'a> {
            Box::pin(async move {
                if !url.ends_with("openid-configuration") {
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep(self.0).await;
                Ok(FetchedFile {
                    content_type: None,
                    cache_control: None,
                    content:
                        r#"{"issuer":"https://login.example","jwks_uri":"https://login.example/k"}"#
                            .into(),
                })
            })
        }

        fn open<'a>(
            &'a self,
            _: &'a str,
            _: &'a EgressPolicy,
            _: &'a HeaderMap,
            _: Option<FileCredential<'a>>,
        ) -> OpenFileFuture<'a> {
            Box::pin(std::future::pending())
        }

        fn check<'a>(&'a self, _: &'a str, _: &'a EgressPolicy) -> UrlCheckFuture<'a> {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_fetch_with_discovery_ends_in_time_and_one_that_is_cancelled_may_begin_again() {
        let sets = IssuerKeySets::default();
        let source = KeySource::Discovery("https://login.example".into());
        let keys = sets.find(&source);
        sets.keep(&[&source]);
        let issuer = SlowIssuer(Duration::from_secs(4));
        let egress = EgressPolicy::default();
        let start = Instant::now();
        keys.begin_fetch(start);
        refresh(&keys, &issuer, &egress).await;
        assert_eq!(start.elapsed(), LIMITS.within);
        let error = keys.status().error.unwrap();
        assert!(error.contains("within 5 s"), "{error}");
        keys.begin_fetch(Instant::now());
        let cancelled = timeout(Duration::from_secs(1), refresh(&keys, &issuer, &egress)).await;
        assert!(cancelled.is_err());
        assert_eq!(keys.status().failed, 2);
        let later = Instant::now() + Duration::from_secs(60);
        let (due, _) = sets.due(later);
        assert_eq!(due.len(), 1, "the next fetch is not prevented");
    }
}
