//! The code of a provider's error that stands in a header, put into its body: errors are classified by what is there.

use bytes::Bytes;
use headgate_protocol::ChannelProtocol;
use headgate_protocol::conversation::ProviderFormat;
use headgate_protocol::json::skim;
use http::{HeaderMap, HeaderName};

/// The code of an error of Amazon's services, before a colon if more follows.
const ERROR_TYPE: HeaderName = HeaderName::from_static("x-amzn-errortype");
/// Codes are shorter.
const CODE_BYTES_MAX: usize = 64;

/// The body of an error with the code that the headers have. Bodies of other protocols, and what is no object, stay as they
/// are.
pub fn with_error_code(
    body: Bytes,
    headers: &HeaderMap,
    protocol: Option<ChannelProtocol>,
) -> Bytes {
    let format = protocol.and_then(|protocol| protocol.descriptor().translation);
    if format != Some(ProviderFormat::Converse) {
        return body;
    }
    let code = headers.get(ERROR_TYPE).and_then(|code| code.to_str().ok());
    let code = code.and_then(|code| code.split(':').next());
    let has_code = skim::find(&body, &["__type"]).is_some();
    let Some(code) = code.filter(|code| is_plain(code) && !has_code) else {
        return body;
    };
    let members = match body.trim_ascii_start() {
        b"" => &b"}"[..],
        [b'{', members @ ..] => members.trim_ascii_start(),
        _ => return body,
    };
    let comma = if members.starts_with(b"}") { "" } else { "," };
    let start = format!("{{\"__type\":\"{code}\"{comma}");
    [start.as_bytes(), members].concat().into()
}

fn is_plain(code: &str) -> bool {
    (1..=CODE_BYTES_MAX).contains(&code.len()) && code.bytes().all(|it| it.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::Protocol;
    use http::HeaderValue;

    #[test]
    fn the_code_of_a_header_is_put_into_an_object() {
        let converse = Protocol::built_in("converse").map(ChannelProtocol::by_translation);
        let chat = Protocol::built_in("chat").map(ChannelProtocol::by_translation);
        let named = "ThrottlingException:http://internal.example/coral/";
        for (protocol, header, body, expected) in [
            (
                converse,
                named,
                r#"{"message":"a"}"#,
                r#"{"__type":"ThrottlingException","message":"a"}"#,
            ),
            (converse, "X", r#"{"__type":"Y"}"#, r#"{"__type":"Y"}"#),
            (converse, "X", " { }", r#"{"__type":"X"}"#),
            (converse, "X", "", r#"{"__type":"X"}"#),
            (converse, "X", "<html>", "<html>"),
            (converse, "a\"b", "{}", "{}"),
            (converse, "", "{}", "{}"),
            (chat, named, "{}", "{}"),
            (None, named, "{}", "{}"),
        ] {
            let headers = HeaderMap::from_iter([(ERROR_TYPE, HeaderValue::from_static(header))]);
            let body = with_error_code(Bytes::from_static(body.as_bytes()), &headers, protocol);
            assert_eq!(str::from_utf8(&body).unwrap(), expected);
        }
    }
}
