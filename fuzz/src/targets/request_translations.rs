//! Translations of requests: a request of any shape becomes JSON of the channel's protocol, in which the gateway's own readers know
//! each member.
//!
//! An input is a pair such as `messages->chat`, with a shipped dialect and a model where they count, and after a line with
//! `--` the caller's body.

use crate::input::{parse_json, parts};
use crate::translation_context::{CALLERS, KeylessSealer, find_pair};
use bytes::Bytes;
use headgate_protocol::conversation::ProviderFormat;
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::{JsonDocument, JsonLimits, quoted};
use headgate_translate::{
    ChannelSettings, Dialect, DialectConfig, ModelFeatures, OnLoss, ProtocolPair, SHIPPED_DIALECTS,
    ThinkingSealer, estimate_input_tokens, list_members, remove_seals, thinking_handles,
    token_count_request, translate_request,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// Handles of one request that are looked up.
const HANDLES_MAX: usize = 256;
/// Those of the shortest object that is a document.
const TOKENS_PER_BYTE_MAX: u64 = 130;

static DIALECTS: LazyLock<BTreeMap<&'static str, Dialect>> = LazyLock::new(|| {
    let configs: BTreeMap<&str, DialectConfig> = SHIPPED_DIALECTS
        .into_iter()
        .map(|(name, text)| {
            let config = serde_saphyr::from_str(text);
            (
                name,
                config.unwrap_or_else(|error| panic!("{name}: {error}")),
            )
        })
        .collect();
    let built = configs.iter().map(|(name, config)| {
        let whole = config.with_bases(|base| configs.get(base).ok_or(None));
        let whole = whole.unwrap_or_else(|fault| panic!("{name}: {fault:?}"));
        let dialect = whole.build();
        (
            *name,
            dialect.unwrap_or_else(|faults| panic!("{name}: {faults:?}")),
        )
    });
    built.collect()
});

pub fn run(input: &[u8]) {
    let [head, body] = parts(input);
    let head = String::from_utf8_lossy(head);
    let mut words = head.split(' ');
    let [pair, dialect, model] = std::array::from_fn(|_| words.next().unwrap_or_default());
    let Some(pair) = find_pair(pair) else {
        return;
    };
    let body = Bytes::copy_from_slice(body);
    let Ok(document) = JsonDocument::parse(body, &JsonLimits::default()) else {
        return;
    };
    let dialect = DIALECTS.get(dialect);
    let features = dialect.map_or_else(Arc::default, |dialect| dialect.for_model(model).clone());
    for sealer in [None, Some(KeylessSealer)] {
        let sealer = sealer.map(|sealer| Arc::new(sealer) as Arc<dyn ThinkingSealer>);
        check_request(pair, &document, &channel(model, features.clone(), sealer));
    }
    check_handles_and_seals(pair, &document);
}

fn channel(
    model: &str,
    features: Arc<ModelFeatures>,
    sealer: Option<Arc<dyn ThinkingSealer>>,
) -> ChannelSettings {
    ChannelSettings {
        model: quoted(model),
        max_output_tokens: 4096,
        features,
        has_call_ids: !model.starts_with('v'),
        sealer,
    }
}

fn check_request(pair: ProtocolPair, document: &JsonDocument, channel: &ChannelSettings) {
    let translated = translate_request(pair, document, channel);
    let listed = list_members(pair, document, &translated.ledger);
    assert!(listed.members.iter().all(|member| !member.sign.is_empty()));
    // A refused request is not sent.
    if translated.ledger.refusal(OnLoss::Drop).is_some() {
        return;
    }
    let Some(sent) = parse_json(&translated.body) else {
        return;
    };
    assert!(sent.is_object(), "the body is no object: {sent}");
    if pair.channel != ProviderFormat::Gemini && pair.channel != ProviderFormat::Converse {
        assert_eq!(
            sent["model"].to_string().as_bytes(),
            channel.model,
            "{sent}"
        );
    }
    parse_json(&token_count_request(pair.channel, translated.body.clone()));
    let is_refused = translated.ledger.refusal(OnLoss::Refuse).is_some();
    if !is_refused && *channel.features == ModelFeatures::default() {
        check_second_reading(pair, &sent, translated.body.into());
    }
}

/// A request that is sent without a loss of meaning has only members that the gateway knows in the channel's protocol.
fn check_second_reading(pair: ProtocolPair, sent: &Value, body: Bytes) {
    let Ok(document) = JsonDocument::parse(body, &JsonLimits::default()) else {
        panic!("the gateway cannot read what it sends: {sent}");
    };
    let callers = CALLERS
        .iter()
        .filter(|caller| caller.provider_format() == pair.channel);
    for caller in callers {
        let again = ProtocolPair {
            caller: *caller,
            channel: pair.caller.provider_format(),
        };
        let channel = channel("m", Arc::default(), None);
        let translated = translate_request(again, &document, &channel);
        let entries = translated.ledger.entries().iter();
        let unknown: Vec<_> = entries
            .filter(|entry| entry.reason.contains("that the gateway knows"))
            .collect();
        assert!(unknown.is_empty(), "{unknown:?} of {sent}");
        parse_json(&translated.body);
    }
}

/// Handles are bounded, and no seal is left after seals are removed.
fn check_handles_and_seals(pair: ProtocolPair, document: &JsonDocument) {
    assert!(thinking_handles(pair, document).len() <= HANDLES_MAX);
    let size = document.body().len() as u64;
    assert!(estimate_input_tokens(document) <= size * TOKENS_PER_BYTE_MAX);
    let mut edits = JsonEdits::default();
    if remove_seals(pair.caller, document, &mut edits).is_none() {
        return;
    }
    let rest = edits.apply(document.body()).to_bytes();
    let Ok(rest) = JsonDocument::parse(rest.clone(), &JsonLimits::default()) else {
        panic!("no JSON is left: {}", rest.escape_ascii());
    };
    let mut edits = JsonEdits::default();
    let again = remove_seals(pair.caller, &rest, &mut edits);
    assert_eq!(again, None, "a seal is left");
}
