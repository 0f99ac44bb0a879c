//! The API that an entry of `model_list` is for, by its mode or by the name of its model.

/// Protocols of routes.yaml by the modes of LiteLLM; those of text have none of their own.
const MODES: [(&str, &[&str]); 11] = [
    ("chat", &[]),
    ("responses", &[]),
    // Its requests one by one; see `deployments` for those in batches.
    ("batch", &[]),
    ("completion", &["completions"]),
    ("embedding", &["embeddings"]),
    ("moderation", &["moderations"]),
    ("image_generation", &["image_generation"]),
    ("audio_speech", &["speech"]),
    ("realtime", &["realtime"]),
    ("audio_transcription", &["transcription"]),
    ("rerank", &["cohere_rerank", "rerank"]),
];
/// Modes by parts of the names of models that have none.
const PARTS: [(&str, &str); 9] = [
    ("embed", "embedding"),
    ("dall-e", "image_generation"),
    ("gpt-image", "image_generation"),
    ("tts-", "audio_speech"),
    ("rerank", "rerank"),
    ("moderation", "moderation"),
    ("whisper", "audio_transcription"),
    ("realtime", "realtime"),
    ("transcribe", "audio_transcription"),
];

/// The API of a model.
#[derive(Debug, PartialEq, Eq)]
pub enum ModelApi<'m> {
    /// Chat, messages or responses, whichever the provider has.
    Text,
    /// One of these protocols, whichever the provider has.
    Other(&'static [&'static str]),
    /// An API that the gateway does not serve, by its mode.
    Unserved(&'m str),
}

/// The API of the model `own` of a provider.
pub fn model_api<'m>(own: &str, mode: Option<&'m str>) -> ModelApi<'m> {
    let by_name = || PARTS.into_iter().find(|(part, _)| own.contains(part));
    let Some(mode) = mode.or_else(|| by_name().map(|(_, mode)| mode)) else {
        return ModelApi::Text;
    };
    match MODES.into_iter().find(|(known, _)| *known == mode) {
        Some((_, [])) => ModelApi::Text,
        Some((_, protocols)) => ModelApi::Other(protocols),
        None => ModelApi::Unserved(mode),
    }
}

#[cfg(test)]
mod tests {
    use super::{ModelApi, model_api};

    #[test]
    fn a_mode_decides_and_else_the_name() {
        for (own, mode, api) in [
            ("gpt-4o", None, ModelApi::Text),
            ("text-embedding-3", Some("chat"), ModelApi::Text),
            ("text-embedding-3", None, ModelApi::Other(&["embeddings"])),
            ("mine", Some("audio_speech"), ModelApi::Other(&["speech"])),
            ("whisper-1", None, ModelApi::Other(&["transcription"])),
            ("mine", Some("batch"), ModelApi::Text),
            ("mine", Some("realtime"), ModelApi::Other(&["realtime"])),
        ] {
            assert_eq!(model_api(own, mode), api, "{own} {mode:?}");
        }
    }
}
