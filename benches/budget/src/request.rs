//! Builds a chat request like those of SDKs.

/// The path of chat requests.
pub const CHAT: &str = "/v1/chat/completions";

/// A chat request with a body of `body_bytes`, as bytes on the wire. `directives` control the simulated provider.
pub fn chat_request(body_bytes: usize, stream: bool, directives: &str) -> Vec<u8> {
    chat_request_to(CHAT, body_bytes, stream, directives)
}

/// The same request to another path.
pub fn chat_request_to(path: &str, body_bytes: usize, stream: bool, directives: &str) -> Vec<u8> {
    let options = match stream {
        true => r#","stream":true,"stream_options":{"include_usage":true}"#,
        false => "",
    };
    let end = format!(
        r#"],"model":"bench-model","temperature":0.7,"max_completion_tokens":60{options}}}"#
    );
    let begin = r#"{"messages":[{"role":"system","content":"Be brief."}"#;
    request_to(path, directives, &messages(begin, &end, body_bytes))
}

/// A request with this body, as bytes on the wire.
pub(crate) fn request_to(path: &str, directives: &str, body: &str) -> Vec<u8> {
    let directives = match directives {
        "" => String::new(),
        directives => format!("x-simulate: {directives}\r\n"),
    };
    format!(
        "POST {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer sk-demo\r\n\
         content-type: application/json\r\naccept: application/json\r\nuser-agent: OpenAI/Python 3.52.0\r\n\
         x-stainless-lang: python\r\nx-stainless-package-version: 3.52.0\r\nx-stainless-os: Linux\r\n\
         x-stainless-arch: x64\r\nx-stainless-runtime: CPython\r\nx-stainless-retry-count: 0\r\n\
         {directives}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A create of a video in the generic format with a prompt of about 800 bytes, as bytes on the wire.
pub fn video_request_to(path: &str, model: &str) -> Vec<u8> {
    let prompt = SENTENCES.repeat(SENTENCES_OF_MESSAGE);
    let body = format!(
        r#"{{"model":"{model}","prompt":"{prompt}","duration":5,"resolution":"720p","ratio":"16:9","seed":7}}"#
    );
    format!(
        "POST {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer sk-demo\r\n\
         content-type: application/json\r\naccept: application/json\r\nuser-agent: python-requests/2.34.0\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A text as SDKs write it, with escapes.
const SENTENCES: &str = r#"Please summarise the report for a busy reader. It has \"quotes\", a few\nnew lines, and the odd accent: caf\u00e9. "#;
/// Sentences of one message of a conversation.
const SENTENCES_OF_MESSAGE: usize = 6;
/// A body of at least this size has an image, as base64, in place of a conversation.
const IMAGE_BYTES_MIN: usize = 512 << 10;

/// A body of `bytes`: `begin` with the first message, more messages, and `end`.
pub(crate) fn messages(begin: &str, end: &str, bytes: usize) -> String {
    let mut body = begin.to_owned();
    let text = SENTENCES.repeat(SENTENCES_OF_MESSAGE);
    if bytes >= IMAGE_BYTES_MIN {
        let before = format!(
            r#",{{"role":"user","content":[{{"type":"text","text":"{text}"}},{{"type":"image_url","image_url":{{"url":"data:image/png;base64,"#
        );
        let after = r#""}}]}"#;
        let known = body.len() + before.len() + after.len() + end.len();
        let image = "QUJD".repeat((bytes - known) / 4);
        return format!("{body}{before}{image}{after}{end}");
    }
    for role in ["user", "assistant"].into_iter().cycle() {
        let message = format!(r#",{{"role":"{role}","content":"{text}"}}"#);
        let last = r#",{"role":"user","content":""}"#;
        let left = bytes.saturating_sub(body.len() + last.len() + end.len());
        if left < message.len() {
            body += &last.replace(r#""""#, &format!(r#""{}""#, "a".repeat(left)));
            break;
        }
        body += &message;
    }
    body + end
}
