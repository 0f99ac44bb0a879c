//! Tests of header values and names in the settings.

use super::*;
use http::HeaderMap;

fn value(config: serde_json::Value, path: &str) -> Option<String> {
    let config = serde_json::from_value(config).unwrap();
    let source = source(config, ChainSide::Request).ok().unwrap();
    let headers = HeaderMap::from_iter([(
        HeaderName::from_static("x-team"),
        HeaderValue::from_static("eu-research"),
    )]);
    let (method, path) = (http::Method::POST, path.to_owned());
    let request = RequestView::new("id".into(), method, path, None, headers, vec![], None);
    let value = source.value(ExchangeValues::for_request(&request));
    Some(value.ok().unwrap()?.to_str().unwrap().to_string())
}

#[test]
fn captures_fill_the_value() {
    use serde_json::json;
    for (config, expected) in [
        (json!("plain"), Some("plain")),
        (
            json!({"source": "path", "match": "^/v(\\d+)/", "value": "version $1"}),
            Some("version 1"),
        ),
        (
            json!({"source": "x-team", "match": "^(?<region>..)-", "value": "$region"}),
            Some("eu"),
        ),
        (
            json!({"source": "x-other", "match": ".", "value": "set"}),
            None,
        ),
        (
            json!({"source": "path", "match": "never", "value": "set"}),
            None,
        ),
        (
            json!({"cel": "request.headers[\"X-Team\"] + '/' + request.method"}),
            Some("eu-research/POST"),
        ),
        (json!({"cel": "request.headers['x-other']"}), None),
    ] {
        assert_eq!(
            value(config.clone(), "/v1/messages").as_deref(),
            expected,
            "{config}"
        );
    }
}

#[test]
fn a_value_that_a_header_must_not_have_is_an_error() {
    use serde_json::json;
    let (method, path) = (http::Method::POST, "/x".to_owned());
    let headers = HeaderMap::new();
    let request = RequestView::new("id".into(), method, path, None, headers, vec![], None);
    for config in [
        json!({"cel": "'two\\nlines'"}),
        json!({"cel": "'a\\r'"}),
        json!({"cel": "'gr\\u00fcn'"}),
    ] {
        let read = serde_json::from_value(config.clone()).unwrap();
        let source = source(read, ChainSide::Request).ok().unwrap();
        let value = source.value(ExchangeValues::for_request(&request));
        assert!(value.is_err(), "{config}");
    }
}
