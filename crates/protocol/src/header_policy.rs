//! Which headers and query parameters cross the gateway, in each direction. Without I/O, so that filters can compute
//! what a provider would receive.

use crate::caller_key::CallerKeyToStrip;
use crate::credential_names::{decoded, member_names_credential, names_credential};
use crate::header_values::decimal_value;
use crate::mask::ChannelSecrets;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use std::borrow::Cow;

/// Whether a caller's header never reaches a provider: connection headers, the caller's credentials, signature and
/// address, headers that select an account or a project at the provider, and those by which a provider would leave out the usage
/// of a response or read another method.
fn is_withheld_from_providers(name: &str) -> bool {
    matches!(
        name,
        "accept-encoding"
            | "anthropic-organization-id"
            | "anthropic-workspace-id"
            | "connection"
            | "content-length"
            | "expect"
            | "forwarded"
            | "host"
            | "keep-alive"
            | "openai-organization"
            | "openai-project"
            | "proxy-authenticate"
            | "proxy-connection"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
            | "via"
            | "x-dashscope-workspace"
            | "x-goog-fieldmask"
            | "x-goog-user-project"
            | "x-http-method-override"
            | "x-real-ip"
            | "x-request-id"
    ) || name.starts_with("x-forwarded-")
        || name.starts_with("x-amz-")
        || name.starts_with("x-headgate-")
        || names_credential(name.as_bytes())
}

/// Removes a caller's idempotency key from a request for paid work. At the provider it would be one of the whole
/// account, and another caller's request with the same key would get the response.
pub fn remove_idempotency_key(headers: &mut HeaderMap) {
    for name in [
        "idempotency-key",
        // Other spellings, which some servers accept.
        "idempotency_key",
        "x-idempotency-key",
        "x_idempotency_key",
    ] {
        headers.remove(name);
    }
}

/// Removes headers that belong to the protocol of one provider, from a request that is translated into another protocol.
pub fn remove_protocol_headers(headers: &mut HeaderMap) {
    let belongs = |name: &HeaderName| {
        let name = name.as_str();
        name.starts_with("anthropic-") || name.starts_with("openai-")
    };
    let names: Vec<HeaderName> = headers
        .keys()
        .filter(|name| belongs(name))
        .cloned()
        .collect();
    for name in names {
        headers.remove(name);
    }
}

/// Whether a provider's header reaches the caller. All others are removed: they can reveal the provider's account,
/// infrastructure and cookies. The provider's rate limit headers describe the operator's account; callers get their
/// own.
fn is_forwarded_to_callers(name: &str) -> bool {
    matches!(
        name,
        "cache-control"
            | "content-disposition"
            | "content-language"
            | "content-length"
            | "content-type"
            | "etag"
            | "last-modified"
            | "openai-processing-ms"
            | "openai-version"
            | "retry-after"
            | "retry-after-ms"
            | "x-should-retry"
    )
}

/// The headers of an upstream request, derived from the caller's.
pub fn request_headers_for_provider(from_caller: &HeaderMap) -> HeaderMap {
    let nominated = ConnectionHeaderTokens::by(from_caller);
    let key = CallerKeyToStrip::from_headers(from_caller);
    let mut headers = HeaderMap::with_capacity(from_caller.len() + 6);
    for (name, value) in from_caller {
        let text = name.as_str();
        // Many servers treat underscores as hyphens, so that `x_api_key` would be a credential.
        let is_kept = match text.contains('_') {
            true => is_withheld_from_providers(&text.replace('_', "-")),
            false => is_withheld_from_providers(text),
        };
        if !is_kept && !nominated.has(text) && !key.is_in(value.as_bytes()) {
            headers.append(name, value.clone());
        }
    }
    // The gateway reads the response, so it must not be encoded.
    headers.insert(
        header::ACCEPT_ENCODING,
        HeaderValue::from_static("identity"),
    );
    headers
}

/// Whether a response header is a list, whose lines add up. All other headers have one value (RFC 9110, section 5.3).
fn is_list(name: &str) -> bool {
    matches!(name, "cache-control" | "content-language")
}

/// Response headers that determine how the body is read: with two different lines, clients could read it differently.
const READING: [HeaderName; 4] = [
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::CONTENT_DISPOSITION,
];

/// The first response header whose lines contradict each other about the body.
pub fn contradiction(from_provider: &HeaderMap) -> Option<&'static HeaderName> {
    if !has_repeated(from_provider) {
        return None;
    }
    READING.iter().find(|name| {
        let mut values = from_provider.get_all(*name).iter();
        let first = values.next();
        values.any(|other| first.is_some_and(|first| !is_same(name, first, other)))
    })
}

/// The path of an upstream request below the base URL of its channel: without `/v1`, which the base URL has.
pub fn path_for_provider(path: &str) -> &str {
    let below = path.strip_prefix("/v1");
    below.filter(|rest| rest.starts_with('/')).unwrap_or(path)
}

/// The query of an upstream request: the caller's query without parameters that carry credentials. The other parameters
/// stay unchanged.
pub fn query_for_provider<'q>(query: &'q str, from_caller: &HeaderMap) -> Cow<'q, str> {
    query_without_credentials(query, from_caller, &[])
}

/// The caller's query without parameters that carry credentials, but with those of the names in `granted`.
pub fn query_without_credentials<'q>(
    query: &'q str,
    from_caller: &HeaderMap,
    granted: &[String],
) -> Cow<'q, str> {
    let key = CallerKeyToStrip::from_headers(from_caller);
    let mut folded = Vec::new();
    let is_granted = |name: &str| {
        let mut names = granted.iter();
        names.any(|granted| decoded(name.as_bytes()).eq(granted.bytes()))
    };
    let mut is_kept = |member: &str| {
        let name = member.split_once('=').map_or(member, |(name, _)| name);
        is_granted(name)
            || !member_names_credential(name, &mut folded) && !key.is_encoded_in(member)
    };
    // Some servers accept a semicolon as separator too.
    if query.split(['&', ';']).all(&mut is_kept) {
        return Cow::Borrowed(query);
    }
    let mut left = String::with_capacity(query.len());
    for member in query.split_inclusive(['&', ';']) {
        if is_kept(member.trim_end_matches(['&', ';'])) {
            left.push_str(member);
        }
    }
    if !query.ends_with(['&', ';']) {
        left.truncate(left.trim_end_matches(['&', ';']).len());
    }
    Cow::Owned(left)
}

/// How many headers the gateway adds to most responses: ids, and what is left of limits.
const OWN_RESPONSE_HEADERS: usize = 10;

/// The headers of the response to the caller, derived from the provider's.
///
/// Values that reveal one of `secrets` are removed. A header with a single value is sent once; if its lines contradict
/// each other, it is removed.
pub fn response_headers_for_caller(
    from_provider: &HeaderMap,
    secrets: &ChannelSecrets,
) -> HeaderMap {
    let nominated = ConnectionHeaderTokens::by(from_provider);
    let has_repeated = has_repeated(from_provider);
    let mut headers = HeaderMap::with_capacity(from_provider.len() + OWN_RESPONSE_HEADERS);
    for (name, value) in from_provider {
        let is_shown = is_forwarded_to_callers(name.as_str())
            && !nominated.has(name.as_str())
            && !secrets.is_in_header(value.as_bytes());
        if !is_shown {
            continue;
        }
        if has_repeated && is_list(name.as_str()) {
            headers.append(name, value.clone());
            continue;
        }
        let contradicts = |other| !is_same(name, value, other);
        if has_repeated && from_provider.get_all(name).iter().any(contradicts) {
            continue;
        }
        let value = match name == header::CONTENT_LENGTH && !is_plain_number(value) {
            true => length(value).map_or_else(|| value.clone(), decimal_value),
            false => value.clone(),
        };
        headers.insert(name, value);
    }
    headers
}

/// The headers of a provider's response with these names, although they do not reach callers: without those of the
/// connection, and without values that reveal one of `secrets`.
pub fn granted_response_headers(
    from_provider: &HeaderMap,
    granted: &[HeaderName],
    secrets: &ChannelSecrets,
) -> HeaderMap {
    let nominated = ConnectionHeaderTokens::by(from_provider);
    let mut headers = HeaderMap::new();
    for name in granted.iter().filter(|name| !nominated.has(name.as_str())) {
        let values = from_provider.get_all(name).iter();
        for value in values.filter(|value| !secrets.is_in_header(value.as_bytes())) {
            headers.append(name.clone(), value.clone());
        }
    }
    headers
}

fn has_repeated(headers: &HeaderMap) -> bool {
    headers.len() != headers.keys_len()
}

fn is_same(name: &HeaderName, one: &HeaderValue, other: &HeaderValue) -> bool {
    match name == header::CONTENT_LENGTH {
        true => length(one) == length(other),
        false => one == other,
    }
}

/// Whether a value is a decimal number as it would be written again: without signs, blanks and leading zeros.
fn is_plain_number(value: &HeaderValue) -> bool {
    match value.as_bytes() {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.len() < 18 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Parses a `content-length`, which may be a list of equal numbers (RFC 9110, section 8.6).
fn length(value: &HeaderValue) -> Option<u64> {
    let text = value.to_str().ok()?;
    let mut lengths = text.split(',').map(|length| length.trim().parse().ok());
    let first = lengths.next()??;
    lengths.all(|other| other == Some(first)).then_some(first)
}

/// Headers that a `Connection` header declares as hop-by-hop.
struct ConnectionHeaderTokens<'a>(Vec<&'a str>);

impl<'a> ConnectionHeaderTokens<'a> {
    fn by(headers: &'a HeaderMap) -> Self {
        let names = headers
            .get_all(header::CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(str::trim)
            .filter(|name| !name.eq_ignore_ascii_case("keep-alive") && !name.is_empty());
        Self(names.collect())
    }

    fn has(&self, name: &str) -> bool {
        self.0
            .iter()
            .any(|nominated| nominated.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .fold(HeaderMap::new(), |mut headers, (name, value)| {
                headers.append(
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                );
                headers
            })
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        let mut names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn a_provider_sees_neither_credentials_nor_the_connection() {
        let sent = headers(&[
            ("authorization", "Bearer sk-caller"),
            ("x-api-key", "sk-caller"),
            ("cookie", "a=b"),
            ("host", "gate"),
            ("connection", "keep-alive, X-Secret-Hop"),
            ("x-secret-hop", "1"),
            ("x-forwarded-for", "10.0.0.1"),
            ("x-headgate-attempts", "9"),
            ("x_api_key", "sk-other"),
            ("x_forwarded_for", "10.0.0.1"),
            ("x_own", "1"),
            ("openai-organization", "org"),
            ("anthropic-beta", "tools"),
            ("user-agent", "sdk"),
            ("content-type", "application/json"),
        ]);
        let forwarded = request_headers_for_provider(&sent);
        assert_eq!(
            names(&forwarded),
            [
                "accept-encoding",
                "anthropic-beta",
                "content-type",
                "user-agent",
                "x_own"
            ]
        );
        assert_eq!(forwarded["accept-encoding"], "identity");
    }

    #[test]
    fn a_caller_sees_only_what_it_can_use() {
        let sent = headers(&[
            ("content-type", "application/json"),
            ("x-ratelimit-limit-requests", "60"),
            ("anthropic-ratelimit-requests-limit", "60"),
            ("retry-after", "2"),
            ("etag", "1"),
            ("connection", "close, etag"),
            ("set-cookie", "a=b"),
            ("openai-organization", "org"),
            ("cf-ray", "1"),
            ("server", "provider"),
            ("cache-control", "sk-upstream-secret"),
        ]);
        let shown =
            response_headers_for_caller(&sent, &ChannelSecrets::new(["sk-upstream-secret"]));
        assert_eq!(names(&shown), ["content-type", "retry-after"]);
    }

    #[test]
    fn what_is_granted_is_shown_but_no_secret_of_the_channel_and_nothing_of_the_connection() {
        let sent = headers(&[
            ("set-cookie", "a=b"),
            ("set-cookie", "key=sk-upstream-secret"),
            ("x-region", "eu"),
            ("x-hop", "1"),
            ("server", "provider"),
            ("connection", "x-hop"),
        ]);
        let granted = ["set-cookie", "x-region", "x-hop"].map(HeaderName::from_static);
        let secrets = ChannelSecrets::new(["sk-upstream-secret"]);
        let shown = granted_response_headers(&sent, &granted, &secrets);
        assert_eq!(names(&shown), ["set-cookie", "x-region"]);
        assert_eq!(shown.len(), 2);

        let key = headers(&[("authorization", "Bearer sk-caller")]);
        let query = "a=1&token=t&Token=u&key=sk-caller&to%6ben=v&x=sk-caller";
        let shown = |granted: &[&str]| {
            let granted: Vec<String> = granted.iter().map(|name| (*name).to_owned()).collect();
            query_without_credentials(query, &key, &granted).into_owned()
        };
        assert_eq!(shown(&[]), "a=1");
        assert_eq!(shown(&["token"]), "a=1&token=t&to%6ben=v");
    }
}
