//! Parses and validates a channel's `base_url`.

use http::HeaderValue;
use http::uri::{Scheme, Uri};
use std::sync::Arc;

/// The parts of a base URL.
#[derive(Debug)]
pub struct BaseUrl {
    pub tls: bool,
    pub host: Arc<str>,
    pub port: u16,
    pub authority: HeaderValue,
    /// Without a trailing slash.
    pub path: Arc<str>,
}

/// Parses a base URL that has no query.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub fn parse(url: &str) -> Result<BaseUrl, String> {
    let (base, query) = parse_with_query(url)?;
    match query {
        None => Ok(base),
        Some(_) => Err("the base URL must not have a query or fragment".into()),
    }
}

/// Parses a base URL; the query, if there is one, is returned besides.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub fn parse_with_query(url: &str) -> Result<(BaseUrl, Option<String>), String> {
    if !url.starts_with("https://") && !url.starts_with("http://") {
        return Err(format!("`{url}` must start with `https://` or `http://`"));
    }
    let uri: Uri = url
        .parse()
        .map_err(|error| format!("`{url}` is not a URL: {error}"))?;
    let tls = uri.scheme() == Some(&Scheme::HTTPS);
    let authority = uri
        .authority()
        .ok_or_else(|| format!("`{url}` has no host"))?;
    if authority.as_str().contains('@') {
        return Err("the URL must not contain a user or password; use `credential`".into());
    }
    if url.contains('#') {
        return Err("the base URL must not have a query or fragment".into());
    }
    let host = authority
        .host()
        .trim_start_matches('[')
        .trim_end_matches(']');
    if host.is_empty() {
        return Err(format!("`{url}` has no host"));
    }
    let query = uri.query().map(str::to_owned);
    let base = BaseUrl {
        tls,
        host: host.into(),
        port: authority.port_u16().unwrap_or(if tls { 443 } else { 80 }),
        authority: HeaderValue::from_str(authority.as_str()).map_err(|_| {
            format!("the host of `{url}` has characters that are not allowed in a Host header")
        })?,
        path: uri.path().trim_end_matches('/').into(),
    };
    Ok((base, query))
}

#[cfg(test)]
mod tests {
    use super::{parse, parse_with_query};

    #[test]
    fn a_base_url_is_taken_apart() {
        for (url, tls, host, port, path) in [
            (
                "https://api.provider.example/v1",
                true,
                "api.provider.example",
                443,
                "/v1",
            ),
            ("http://127.0.0.1:9100/", false, "127.0.0.1", 9100, ""),
            ("http://[::1]:8080/a/b/", false, "::1", 8080, "/a/b"),
        ] {
            let base = parse(url).unwrap();
            assert_eq!(
                (base.tls, &*base.host, base.port, &*base.path),
                (tls, host, port, path)
            );
        }
    }

    #[test]
    fn a_query_is_returned_besides() {
        let url = "https://x.example/openai/deployments/{model}?api-version=1";
        let (base, query) = parse_with_query(url).unwrap();
        assert_eq!(&*base.path, "/openai/deployments/{model}");
        assert_eq!(query.as_deref(), Some("api-version=1"));
        assert!(parse_with_query("https://x.example/v1#a").is_err());
        assert!(
            parse_with_query("https://x.example/v1")
                .unwrap()
                .1
                .is_none()
        );
    }

    #[test]
    fn what_is_no_base_url_is_refused_with_its_reason() {
        for (url, reason) in [
            ("api.provider.example/v1", "must start with"),
            ("ftp://host/", "must start with"),
            ("https://user:pw@host/", "credential"),
            ("https://host/v1?key=1", "query or fragment"),
            ("https://", "not a URL"),
        ] {
            let refusal = parse(url).unwrap_err();
            assert!(refusal.contains(reason), "{url}: {refusal}");
        }
    }
}
