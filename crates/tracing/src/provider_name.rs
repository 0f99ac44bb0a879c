//! The value of `gen_ai.provider.name`: by the host of the provider if it is known, else by the protocol.

use headgate_protocol::Protocol;

/// Hosts of providers for which OpenTelemetry's conventions have a name; also for names below them.
const HOSTS: &[(&str, &str)] = &[
    ("api.openai.com", "openai"),
    ("openai.azure.com", "azure.ai.openai"),
    ("services.ai.azure.com", "azure.ai.inference"),
    ("anthropic.com", "anthropic"),
    ("amazonaws.com", "aws.bedrock"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("googleapis.com", "gcp.vertex_ai"),
    ("cohere.com", "cohere"),
    ("deepseek.com", "deepseek"),
    ("groq.com", "groq"),
    ("mistral.ai", "mistral_ai"),
    ("perplexity.ai", "perplexity"),
    ("x.ai", "x_ai"),
];

/// The name of the provider with this host.
pub(super) fn provider_name(host: &str, protocol: Option<Protocol>) -> Option<&'static str> {
    let is_of = |known: &str| {
        let above = host.strip_suffix(known);
        above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
    };
    let known = HOSTS.iter().find(|(known, _)| is_of(known));
    let known = known.map(|(_, name)| *name);
    known.or_else(|| protocol?.descriptor().traces.provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_host_names_its_provider_and_other_hosts_that_of_their_protocol() {
        for (host, protocol, name) in [
            ("api.openai.com", Protocol::Responses, Some("openai")),
            (
                "acme.openai.azure.com",
                Protocol::Chat,
                Some("azure.ai.openai"),
            ),
            (
                "europe-aiplatform.googleapis.com",
                Protocol::Chat,
                Some("gcp.vertex_ai"),
            ),
            ("api.x.ai", Protocol::Chat, Some("x_ai")),
            ("matrix.ai", Protocol::Chat, Some("openai")),
            ("api.deepseek.com", Protocol::Messages, Some("deepseek")),
            ("127.0.0.1", Protocol::Messages, Some("anthropic")),
            ("127.0.0.1", Protocol::FamilyA, Some("family_a")),
            ("127.0.0.1", Protocol::Video, None),
        ] {
            assert_eq!(provider_name(host, Some(protocol)), name, "{host}");
        }
        assert_eq!(provider_name("127.0.0.1", None), None);
    }
}
