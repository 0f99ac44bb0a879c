//! Builds what a route translates.

use super::RouteBuilder;
use crate::routes::RouteConfig;
use crate::snapshot::ProblemCollector;
use crate::snapshot::router::MethodPathPattern;
use crate::translation::OnLossConfig;
use headgate_core::catalog::endpoint::ProviderOperationClass;
use headgate_protocol::conversation::ProviderFormat;
use headgate_protocol::{Protocol, header_policy};
use headgate_translate::{ProtocolPair, TranslationPolicy};
use http::Method;

impl RouteBuilder<'_> {
    /// The translation of a route with this protocol.
    pub(super) fn translation(
        &self,
        config: &RouteConfig,
        protocol: Option<Protocol>,
        patterns: &[MethodPathPattern],
        at: &str,
        problems: &mut ProblemCollector<'_>,
    ) -> TranslationPolicy {
        let mut protocols = Vec::new();
        for (index, name) in config.translate.iter().enumerate() {
            let at = format!("{at}/translate/{index}");
            // The schema refuses unknown names.
            let Some(channel) = self.declared.protocols.get(&name.0) else {
                continue;
            };
            match check_pair(protocol, channel) {
                Ok(()) if protocols.contains(&channel) => {
                    problems.error(&at, format!("`{}` stands here twice", name.0), None);
                }
                Ok(()) => protocols.push(channel),
                Err((reason, hint)) => problems.error(&at, reason, Some(hint)),
            }
        }
        if !protocols.is_empty() && self.tasks.keys.is_none() {
            problems.warning(
                &format!("{at}/translate"),
                "without `task_keys` models do not get their thoughts back with the next turn"
                    .to_owned(),
                Some("add `task_keys`; `headgate key task` prints one"),
            );
        }
        if !protocols.is_empty() && patterns.iter().any(is_compaction) {
            problems.error(
                &format!("{at}/translate"),
                "compaction of a conversation cannot be translated".to_owned(),
                Some("remove it: only channels of the protocol itself serve this path"),
            );
        }
        if config.on_loss == OnLossConfig::Drop && config.translate.is_empty() {
            problems.warning(
                &format!("{at}/on_loss"),
                "`on_loss` has no effect without `translate`".to_owned(),
                Some("remove it, or add the protocols of other channels as `translate`"),
            );
        }
        TranslationPolicy {
            protocols,
            on_loss: config.on_loss.into(),
            admits_models: self.has_translated_models()
                && protocol.is_some_and(|protocol| {
                    let mut patterns = patterns.iter();
                    patterns.all(|pattern| is_translatable(protocol, &pattern.path()))
                }),
        }
    }

    /// Whether a model has a translation of its own. Without one, requests of routes that translate nothing are not searched
    /// for what a translation sealed.
    fn has_translated_models(&self) -> bool {
        let mut models = self.catalog.models();
        models.any(|model| model.properties.translation.protocols.is_some())
    }

    /// Warns of a route that no channel serves.
    pub(super) fn check_protocol(
        &self,
        protocol: Option<Protocol>,
        translation: &TranslationPolicy,
        at: &str,
        problems: &mut ProblemCollector<'_>,
    ) {
        let Some(protocol) = protocol else {
            return;
        };
        let mut channels = self.catalog.channels();
        let by_models = |spoken: &Protocol| {
            let mut models = self.catalog.models();
            models.any(|model| {
                let translated = translation.protocols_for(&model.properties.translation);
                translated.contains(spoken) && model.supports(*spoken)
            })
        };
        let serves = |spoken: &Protocol| {
            *spoken == protocol.on_channels()
                || translation.protocols.contains(spoken)
                || by_models(spoken)
        };
        // A channel that could not be built is missing here, and so are its protocols.
        if problems.errors() > 0 || channels.any(|channel| channel.protocols.iter().any(serves)) {
            return;
        }
        let hint = match self.possible_translations(protocol).as_slice() {
            [] => "add it to the `protocols` of a channel".to_owned(),
            others => format!(
                "add it to the `protocols` of a channel, or `translate: [{}]` to the route",
                others.join(", ")
            ),
        };
        problems.warning(
            &format!("{at}/protocol"),
            format!("no channel speaks {}", protocol.on_channels().name()),
            Some(&hint),
        );
    }

    /// The protocols of channels that could serve a route by translation.
    fn possible_translations(&self, protocol: Protocol) -> Vec<&'static str> {
        let is_spoken = |one: &Protocol| {
            let mut channels = self.catalog.channels();
            channels.any(|channel| channel.protocols.contains(one))
        };
        let all = Protocol::BUILT_IN.iter();
        let possible =
            all.filter(|one| ProtocolPair::between(protocol, **one).is_some() && is_spoken(one));
        possible.map(|one| one.name()).collect()
    }
}

/// Whether requests of a protocol to this path can be translated: they generate output, or count its tokens.
fn is_translatable(protocol: Protocol, path: &str) -> bool {
    let descriptor = protocol.descriptor();
    let class = ProviderOperationClass::for_request(&Method::POST, path, true);
    descriptor
        .translation
        .and_then(ProviderFormat::caller_format)
        .is_some()
        && (path.ends_with(header_policy::path_for_provider(descriptor.path))
            || class == ProviderOperationClass::TokenCount)
}

/// Whether a route is one of conversations that become shorter, whose items only their provider reads.
fn is_compaction(pattern: &MethodPathPattern) -> bool {
    pattern.path().ends_with("/compact")
}

/// # Errors
/// Why requests cannot be translated, and what to write.
fn check_pair(caller: Option<Protocol>, channel: Protocol) -> Result<(), (String, &'static str)> {
    let Some(caller) = caller else {
        return Err((
            "`translate` requires a route with `protocol`".to_owned(),
            "add the protocol of the callers, such as `protocol: messages`",
        ));
    };
    if caller == channel {
        return Err((
            format!("`{}` is the protocol of the route itself", channel.name()),
            "remove it: channels of this protocol serve the route anyway",
        ));
    }
    match ProtocolPair::between(caller, channel) {
        Some(_) => Ok(()),
        None => Err((
            format!(
                "there is no translation from `{}` to `{}`",
                caller.name(),
                channel.name()
            ),
            "remove it: `chat`, `messages` and `responses` can be translated into each other, and into `gemini` and `converse`",
        )),
    }
}
