//! What models behind the protocol take, by the family in their ids.

use crate::context::ChannelSettings;
use crate::dialect::ModelFamily;

impl ModelFamily {
    /// The family that the channel's dialect names, or else the name of the model. Ids of models and of most inference
    /// profiles name it.
    pub(super) fn for_channel(channel: &ChannelSettings) -> Self {
        if let Some(family) = channel.features.converse.family {
            return family;
        }
        let names = [
            ("anthropic.", Self::Claude),
            ("amazon.nova", Self::Nova),
            ("openai.gpt-oss", Self::GptOss),
        ];
        let model = &channel.model;
        let mut named = names
            .iter()
            .filter(|(name, _)| memchr::memmem::find(model, name.as_bytes()).is_some());
        named.next().map_or(Self::Other, |(_, family)| *family)
    }

    /// Whether requests may mark the end of a prefix that is cached.
    pub(super) fn takes_cache_points(self) -> bool {
        matches!(self, Self::Claude | Self::Nova)
    }

    /// Whether the result of a tool may say that the tool failed.
    pub(super) fn takes_result_status(self) -> bool {
        matches!(self, Self::Claude | Self::Nova)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelFeatures;
    use crate::dialect::ConverseDialect;
    use bytes::Bytes;

    #[test]
    fn ids_of_models_name_their_family() {
        for (model, family) in [
            (
                r#""anthropic.claude-sonnet-4-20250514-v1:0""#,
                ModelFamily::Claude,
            ),
            (
                r#""eu.anthropic.claude-haiku-4-5-20251001-v1:0""#,
                ModelFamily::Claude,
            ),
            (
                r#""arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-6-v1""#,
                ModelFamily::Claude,
            ),
            (r#""us.amazon.nova-pro-v1:0""#, ModelFamily::Nova),
            (r#""openai.gpt-oss-120b-1:0""#, ModelFamily::GptOss),
            (r#""meta.llama3-3-70b-instruct-v1:0""#, ModelFamily::Other),
            (
                r#""arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc""#,
                ModelFamily::Other,
            ),
        ] {
            let channel = ChannelSettings {
                model: Bytes::from_static(model.as_bytes()),
                max_output_tokens: 1,
                has_call_ids: true,
                features: ModelFeatures::default().into(),
                sealer: None,
            };
            assert_eq!(ModelFamily::for_channel(&channel), family, "{model}");
            for family in [ModelFamily::Nova, ModelFamily::Other] {
                let features = ModelFeatures {
                    converse: ConverseDialect {
                        family: Some(family),
                    },
                    ..ModelFeatures::default()
                };
                let channel = ChannelSettings {
                    features: features.into(),
                    ..channel.clone()
                };
                assert_eq!(ModelFamily::for_channel(&channel), family, "{model}");
            }
        }
    }
}
