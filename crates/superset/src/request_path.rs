//! The path of a translated request.

use headgate_protocol::conversation::ProviderFormat;
use headgate_protocol::percent_encoding::push_encoded;
use headgate_protocol::{ChannelProtocol, header_policy};
use std::borrow::Cow;

/// The path below the channel's base URL, with its name of the model if the protocol has that there. The name is checked
/// before.
pub fn request_path(
    channel: ChannelProtocol,
    is_stream: bool,
    model: Option<&str>,
) -> Cow<'static, str> {
    let descriptor = channel.descriptor();
    let stream_path = descriptor.stream_path.filter(|_| is_stream);
    let path = header_policy::path_for_provider(stream_path.unwrap_or(descriptor.path));
    match model {
        Some(model) if path.contains("{model}") => path_with_model(channel, path, model).into(),
        Some(_) | None => path.into(),
    }
}

/// The path of an endpoint with the name of a model in place of `{model}`, encoded as the SDKs of the provider do.
pub fn path_with_model(channel: ChannelProtocol, path: &str, model: &str) -> String {
    let Some((before, after)) = path.split_once("{model}") else {
        return path.to_owned();
    };
    let mut path = before.to_owned();
    if channel.descriptor().translation == Some(ProviderFormat::Converse) {
        push_signed_segment(&mut path, model);
    } else {
        push_encoded(&mut path, model);
    }
    path.push_str(after);
    path
}

/// Whether a provider of the gemini protocol takes ids of calls: Vertex AI, which has the models of several publishers, refuses
/// them.
pub fn takes_call_ids(host: &str, base_path: &str) -> bool {
    !host.ends_with("aiplatform.googleapis.com") && !base_path.contains("/publishers/")
}

/// Adds a name as the SDKs of a provider do that signs paths: a colon is encoded, too.
fn push_signed_segment(path: &mut String, name: &str) {
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::Protocol;

    #[test]
    fn the_name_of_a_model_is_one_segment() {
        for (protocol, is_stream, model, expected) in [
            ("chat", true, "a/b", "/chat/completions"),
            ("gemini", false, "a/b:c", "/models/a%2Fb:c:generateContent"),
            (
                "gemini",
                true,
                "gemini-3-flash",
                "/models/gemini-3-flash:streamGenerateContent?alt=sse",
            ),
            (
                "converse",
                false,
                "us.amazon.nova-pro-v1:0",
                "/model/us.amazon.nova-pro-v1%3A0/converse",
            ),
            (
                "converse",
                true,
                "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.a-v1:0",
                "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Feu.a-v1%3A0/converse-stream",
            ),
            (
                "converse",
                false,
                "../?#% é",
                "/model/..%2F%3F%23%25%20%C3%A9/converse",
            ),
        ] {
            let protocol = Protocol::built_in(protocol).map(ChannelProtocol::by_translation);
            let path = request_path(protocol.unwrap(), is_stream, Some(model));
            assert_eq!(path, expected);
        }
    }
    #[test]
    fn vertex_is_known_by_its_host_and_its_paths() {
        for (host, path, takes) in [
            ("generativelanguage.googleapis.com", "/v1beta", true),
            ("us-central1-aiplatform.googleapis.com", "/v1", false),
            ("aiplatform.googleapis.com", "/v1/publishers/google", false),
            (
                "proxy.example",
                "/v1/projects/p/locations/l/publishers/google",
                false,
            ),
            ("proxy.example", "/publishers", true),
        ] {
            assert_eq!(takes_call_ids(host, path), takes, "{host} {path}");
        }
    }
}
