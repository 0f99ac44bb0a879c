//! What a request has cost when it ends, by what its providers reported and by what they may have done.

use crate::unreported_output::reported_usage;
use headgate_core::catalog::price::{BillableMediaOutput, Cost, ExchangeCost, ModelPrice};
use headgate_core::filter::failed_attempt_usage::{FailedAttemptUsage, FailedAttemptUsages};
use headgate_core::filter::settlement::ExchangeSettlement;
use headgate_core::filter::stream_info::{StreamInfo, UpstreamProcessing};
use headgate_core::filter::view::RequestView;
use headgate_protocol::Protocol;
use headgate_protocol::estimate::TokenEstimate;
use headgate_protocol::thought_maximum::ThoughtMaximum;
use headgate_protocol::usage::{StreamUsageMeter, TokenUsage};
use std::sync::Arc;

/// Bytes of text that are at least a token, as they stand in an event.
const BYTES_PER_TOKEN: u64 = 4;

/// By what a request costs that has reserved money.
pub struct CostRules {
    /// The prices by which it was reserved, for channels without any.
    pub reserved_price: Arc<ModelPrice>,
    /// What was reserved first.
    pub reserved: u64,
    pub estimate: TokenEstimate,
    /// What the model may think without showing it.
    pub thoughts: ThoughtMaximum,
    /// Whether the provider works on although the caller has left.
    pub is_background: bool,
    /// Whether the request asks for a stream.
    pub is_streamed: bool,
}

impl CostRules {
    /// The rules of a request that has reserved `reserved` by this price.
    pub fn new(
        request: &RequestView,
        reserved_price: Arc<ModelPrice>,
        reserved: u64,
        estimate: TokenEstimate,
    ) -> Self {
        let body = request.body.document();
        let is_on = |name| {
            let value = body.and_then(|body| body.root().get(name));
            value.is_some_and(|value| value.raw() == b"true")
        };
        Self {
            reserved_price,
            reserved,
            estimate,
            thoughts: body.map_or(ThoughtMaximum::Unasked, ThoughtMaximum::from_body),
            is_background: is_on("background"),
            is_streamed: is_on("stream") || request.endpoint_path().contains("stream"),
        }
    }

    /// What the last attempt costs on a channel with this price; what cannot be known costs what was reserved.
    pub fn last_cost(
        &self,
        request: &RequestView,
        settlement: ExchangeSettlement,
        price: Option<&ModelPrice>,
    ) -> u64 {
        let failed = request.state.get::<FailedAttemptUsages>();
        let in_failure = failed.and_then(|works| works.usage(request.info.attempt));
        let counted = reported_usage(request).or(in_failure.copied());
        self.attempt_cost(request, counted.as_ref(), settlement, price)
    }

    /// What a stream would cost if it ended here.
    pub fn running_cost(&self, request: &RequestView, price: Option<&ModelPrice>) -> u64 {
        let meter = request.state.get::<StreamUsageMeter>();
        let counted = meter.and_then(StreamUsageMeter::usage);
        let counted = counted.filter(|usage| usage.implausible_count(1).is_none());
        let settlement = ExchangeSettlement::BudgetCut;
        self.attempt_cost(request, counted.as_ref(), settlement, price)
    }

    fn attempt_cost(
        &self,
        request: &RequestView,
        counted: Option<&TokenUsage>,
        settlement: ExchangeSettlement,
        price: Option<&ModelPrice>,
    ) -> u64 {
        let info = &request.info;
        if !info.may_have_cost {
            return 0;
        }
        let price = self.price_or_reserved(price);
        let media = request.state.get::<BillableMediaOutput>();
        let usage = self.usage(info, counted, settlement, price);
        let cost = self.cost(price, usage.as_ref(), media);
        let unseen = match self.is_background && !is_reported(request, counted, price) {
            true => self.reserved,
            false => self.unseen_cost(request, settlement, (price, counted), usage),
        };
        cost.max(unseen)
    }

    /// The least that an attempt costs of which its provider knows more than it reported.
    fn unseen_cost(
        &self,
        request: &RequestView,
        settlement: ExchangeSettlement,
        (price, counted): (&ModelPrice, Option<&TokenUsage>),
        usage: Option<TokenUsage>,
    ) -> u64 {
        let info = &request.info;
        match settlement {
            // What nobody reported of a whole response can be all that was reserved.
            ExchangeSettlement::Complete
            | ExchangeSettlement::UsageMissing
            | ExchangeSettlement::UsageImplausible => match is_reported(request, counted, price) {
                true => 0,
                false => self.reserved,
            },
            ExchangeSettlement::ClientCancelled
            | ExchangeSettlement::WriteTimeout
            | ExchangeSettlement::UpstreamCut
            | ExchangeSettlement::Denied
            | ExchangeSettlement::BudgetCut => {
                // The provider has made a response that it does not stream before it sends the head.
                let is_made = info.processing == UpstreamProcessing::Accepted
                    && counted.is_none()
                    && (!self.is_streamed || info.is_unstreamed);
                match is_made {
                    true => self.reserved,
                    false => {
                        let thoughts = self.cost_with_thoughts(price, usage);
                        thoughts.max(self.cost_of_text(request, price, usage))
                    }
                }
            }
            // An error event may follow text.
            ExchangeSettlement::UpstreamError => self.cost_of_text(request, price, usage),
            ExchangeSettlement::GatewayReply => 0,
        }
    }

    /// What the attempts cost that failed before the last one: the usage that they reported, or else the estimated input of
    /// those whose end is not known.
    pub fn failed_cost<'w>(&self, works: impl Iterator<Item = &'w FailedAttemptUsage>) -> u64 {
        let costs = works.map(|work| {
            let price = self.price_or_reserved(work.price.as_deref());
            let estimated = TokenUsage {
                input_tokens: Some(self.estimate.input),
                ..TokenUsage::default()
            };
            match price.cost(Some(work.usage.as_ref().unwrap_or(&estimated)), None) {
                ExchangeCost::Priced(Cost(nanos)) => nanos,
                ExchangeCost::Unpriced | ExchangeCost::Unmetered => 0,
            }
        });
        costs.fold(0, u64::saturating_add)
    }

    /// The prices of a channel, or those by which the request was reserved if it has none.
    fn price_or_reserved<'p>(&'p self, price: Option<&'p ModelPrice>) -> &'p ModelPrice {
        price
            .filter(|price| price.is_priced())
            .unwrap_or(&self.reserved_price)
    }

    fn cost(
        &self,
        price: &ModelPrice,
        usage: Option<&TokenUsage>,
        media: Option<&BillableMediaOutput>,
    ) -> u64 {
        match price.cost(usage, media) {
            ExchangeCost::Priced(Cost(nanos)) => nanos,
            // Something has a price, since it was reserved, and the provider did not report that.
            ExchangeCost::Unpriced | ExchangeCost::Unmetered => self.reserved,
        }
    }

    /// The cost of a response that broke off, with the thoughts that it may not have shown: at most what was reserved.
    fn cost_with_thoughts(&self, price: &ModelPrice, usage: Option<TokenUsage>) -> u64 {
        let (Some(usage), Some(_)) = (usage, &price.tokens) else {
            return 0;
        };
        let cost = match self.thoughts {
            ThoughtMaximum::Unasked => return 0,
            ThoughtMaximum::Unlimited => self.reserved,
            ThoughtMaximum::Tokens(most) => {
                let shown = usage.output_tokens.unwrap_or(0);
                let with_thoughts = TokenUsage {
                    output_tokens: Some(shown.saturating_add(most)),
                    reasoning_tokens: Some(most.max(usage.reasoning_tokens.unwrap_or(0))),
                    ..usage
                };
                self.cost(price, Some(&with_thoughts), None)
            }
        };
        cost.min(self.reserved)
    }

    /// The cost of a stream that broke off, by the text in events that are larger than one of a single token: at most what was
    /// reserved.
    fn cost_of_text(
        &self,
        request: &RequestView,
        price: &ModelPrice,
        usage: Option<TokenUsage>,
    ) -> u64 {
        let protocol = request.protocol.map(Protocol::descriptor);
        let is_text = protocol.is_some_and(|protocol| protocol.conversation.is_some());
        // The first two events of a response may have the request in them.
        let echo = self.estimate.input.saturating_mul(2);
        let tokens =
            (u64::from(request.info.large_event_bytes) / BYTES_PER_TOKEN).saturating_sub(echo);
        let (Some(usage), true, true) = (usage, is_text, tokens > 0) else {
            return 0;
        };
        let with_text = TokenUsage {
            output_tokens: usage.output_tokens.max(Some(tokens)),
            ..usage
        };
        self.cost(price, Some(&with_text), None).min(self.reserved)
    }

    /// The usage that the provider reported. If its response broke off before, and tokens are all that has a price: the
    /// estimated input, and at least one output token per event.
    fn usage(
        &self,
        info: &StreamInfo,
        counted: Option<&TokenUsage>,
        settlement: ExchangeSettlement,
        price: &ModelPrice,
    ) -> Option<TokenUsage> {
        let counted = counted.copied();
        if settlement == ExchangeSettlement::Complete && counted.is_some() {
            return counted;
        }
        if price.tokens.is_none() || price.audio_minute.is_some() {
            return counted;
        }
        let usage = counted.unwrap_or_default();
        Some(TokenUsage {
            input_tokens: usage.input_tokens.or(Some(self.estimate.input)),
            output_tokens: Some(usage.output_tokens.unwrap_or(0).max(info.event_tokens())),
            ..usage
        })
    }
}

/// Whether a usage has all tokens that have a price: without its input or its output, one that a provider reports is none.
fn is_reported(request: &RequestView, counted: Option<&TokenUsage>, price: &ModelPrice) -> bool {
    let Some(prices) = &price.tokens else {
        return true;
    };
    let protocol = request.protocol.map(Protocol::descriptor);
    let has_output = protocol.is_some_and(|protocol| protocol.has_output_tokens());
    let is_text = protocol.is_some_and(|protocol| protocol.conversation.is_some());
    let is_output_priced = has_output && prices.charges_output();
    counted.is_some_and(|usage| {
        let is_by_length = price.audio_minute.is_some() && usage.audio_ms.is_some();
        let has_output = !is_output_priced || usage.output_tokens.is_some();
        let is_input_free = prices.all().all(|rates| rates.input == 0);
        // No conversation is without input.
        let input_min = u64::from(is_text);
        let input = usage.input_with_cache();
        let has_input = is_input_free || input.is_some_and(|input| input >= input_min);
        is_by_length || has_input && has_output
    })
}
