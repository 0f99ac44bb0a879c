//! Builds a chat request like those of SDKs.

/// The path of chat requests.
pub const CHAT: &str = "/v1/chat/completions";

/// A chat request with a body of `body_bytes`, as bytes on the wire. `directives` control the simulated provider.
pub fn chat_request(body_bytes: usize, stream: bool, directives: &str) -> Vec<u8> {
    chat_request_to(CHAT, body_bytes, stream, directives)
}

/// The same request to another path.
pub fn chat_request_to(path: &str, body_bytes: usize, stream: bool, directives: &str) -> Vec<u8> {
    let filler = "The water runs where the gate lets it. ";
    let mut text = filler.repeat(body_bytes / filler.len() + 1);
    let options = match stream {
        true => r#","stream":true,"stream_options":{"include_usage":true}"#,
        false => "",
    };
    let empty = format!(
        r#"{{"messages":[{{"role":"system","content":"Be brief."}},{{"role":"user","content":""}}],"model":"bench-model","temperature":0.7,"max_completion_tokens":60{options}}}"#
    );
    text.truncate(body_bytes.saturating_sub(empty.len()));
    let body = empty.replacen(r#""content":""}]"#, &format!(r#""content":"{text}"}}]"#), 1);
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
