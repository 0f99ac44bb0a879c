//! Subprotocols that clients of OpenAI's realtime API offer: web pages cannot set headers of a handshake, and send what stands
//! there as subprotocols.

use http::{HeaderMap, HeaderValue, header};

/// The subprotocol of sessions.
pub const REALTIME: &str = "realtime";
/// What precedes the key of a caller.
const KEY: &str = "openai-insecure-api-key.";
/// What precedes the version of an API that is not released.
const BETA: &str = "openai-beta.";

/// Whether a client offers the subprotocol of sessions.
pub fn offers_realtime(headers: &HeaderMap) -> bool {
    offered(headers).any(|name| name == REALTIME)
}

/// The value of `authorization` for the key that a client sends as a subprotocol; `None` if it sends none.
pub fn authorization(headers: &HeaderMap) -> Option<HeaderValue> {
    let key = offered(headers).find_map(|name| name.strip_prefix(KEY))?;
    let mut bearer = HeaderValue::from_str(&format!("Bearer {key}")).ok()?;
    bearer.set_sensitive(true);
    Some(bearer)
}

/// The value of `openai-beta` that a client sends as a subprotocol, such as `realtime=v1` for `openai-beta.realtime-v1`.
pub fn beta(headers: &HeaderMap) -> Option<HeaderValue> {
    let beta = offered(headers).find_map(|name| name.strip_prefix(BETA))?;
    let (name, version) = beta.rsplit_once('-')?;
    HeaderValue::from_str(&format!("{name}={version}")).ok()
}

fn offered(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let lists = lines.filter_map(|line| line.to_str().ok());
    lists.flat_map(|list| list.split(',').map(str::trim))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_sends_its_headers_as_subprotocols() {
        let mut headers = HeaderMap::new();
        assert!(!offers_realtime(&headers));
        assert_eq!(authorization(&headers), None);
        let offer = "realtime, openai-insecure-api-key.sk-page,openai-beta.realtime-v1";
        headers.insert(
            header::SEC_WEBSOCKET_PROTOCOL,
            HeaderValue::from_static(offer),
        );
        assert!(offers_realtime(&headers));
        assert_eq!(authorization(&headers).unwrap(), "Bearer sk-page");
        assert!(authorization(&headers).unwrap().is_sensitive());
        assert_eq!(beta(&headers).unwrap(), "realtime=v1");
    }
}
