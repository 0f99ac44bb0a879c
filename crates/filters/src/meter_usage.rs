//! `meter_usage`: reads the token usage that the provider reports in JSON responses and streams.

use crate::unreported_output::UnreportedOutput;
use bytes::Bytes;
use headgate_core::catalog::model::Candidate;
use headgate_core::catalog::price::{BillableMediaOutput, ModelPrice};
use headgate_core::filter::descriptor::{ChainSide, FilterChainRules, FilterDescriptor};
use headgate_core::filter::stream_info::UsageReport;
use headgate_core::filter::view::{EventView, RequestView, ResponseBodyKind, ResponseView};
use headgate_core::filter::{Filter, FilterDeclaration, HookResult, ResponseBodyAccess};
use headgate_protocol::images::{image_count, is_image_event};
use headgate_protocol::response_verdict::{is_examined, is_pending};
use headgate_protocol::usage::{StreamUsageMeter, TokenUsage};
use headgate_protocol::{DuplicateRequestCost, GenerationMedium, usage};
use http::Method;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "meter_usage",
    summary: "Reads the token usage that the provider reports, for metrics and the access log.",
    side: ChainSide::Response,
    placement: FilterChainRules::ANYWHERE,
    settings: None,
    bare: true,
    build: |_, _| Ok(Arc::new(MeterUsageFilter)),
};

struct MeterUsageFilter;

impl Filter for MeterUsageFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            response_body: ResponseBodyAccess::Observe,
            events: ResponseBodyAccess::Observe,
            reads_upstream_events: true,
            ..FilterDeclaration::default()
        }
    }

    fn on_response_head<'a>(&'a self, response: &'a mut ResponseView<'_>) -> HookResult<'a, ()> {
        if let (ResponseBodyKind::Stream, Some(protocol)) =
            (response.kind, response.channel_protocol())
        {
            response.request.info.usage = UsageReport::Missing;
            response.request.state.set(StreamUsageMeter::new(
                protocol.usage_at(host(response.candidate)),
            ));
        } else if response.status.is_success() && is_transcript(response) {
            // Plain text and subtitles have none, and are never read.
            response.request.info.usage = UsageReport::Missing;
        }
        HookResult::done()
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        let protocol = response.channel_protocol();
        let shape = protocol.map(|protocol| protocol.usage_at(host(response.candidate)));
        match shape.and_then(|shape| usage::from_json(shape, body)) {
            Some(usage) => {
                if UnreportedOutput::is_in_body(response.request, body, &usage) {
                    response.request.state.set(UnreportedOutput);
                }
                let report = checked(usage, response.request, response.candidate);
                response.request.info.usage = report;
            }
            None if response.status.is_success() && expects_usage(response, body) => {
                response.request.info.usage = UsageReport::Missing;
            }
            None => {}
        }
        if response.status.is_success()
            && counts_images(response.candidate)
            && let Some(count) = image_count(body)
        {
            response
                .request
                .state
                .set(BillableMediaOutput::Images(count));
        }
        HookResult::done()
    }

    fn on_event<'a>(&'a self, view: &'a mut EventView<'_>) -> HookResult<'a, ()> {
        if let Some(meter) = view.request.state.get_mut::<StreamUsageMeter>() {
            match view.event.is_oversize() {
                false => meter.event(view.event.name(), view.event.data()),
                true => meter.oversize_piece(&view.event.raw),
            }
        }
        if counts_images(view.candidate) && is_image_event(view.event.name(), view.event.data()) {
            let earlier = match view.request.state.get() {
                Some(BillableMediaOutput::Images(count)) => *count,
                _ => 0,
            };
            let images = BillableMediaOutput::Images(earlier.saturating_add(1));
            view.request.state.set(images);
        }
        HookResult::done()
    }

    fn on_response_end(&self, request: &mut RequestView) {
        let Some(meter) = request.state.get::<StreamUsageMeter>() else {
            return;
        };
        let Some(usage) = meter.usage() else {
            return;
        };
        let lacks_output = UnreportedOutput::is_in_stream(request, meter, &usage);
        request.info.usage = checked(usage, request, None);
        if lacks_output {
            request.state.set(UnreportedOutput);
        }
    }
}

/// The host of the provider.
fn host(candidate: Option<&Candidate>) -> &str {
    candidate.map_or("", |candidate| &candidate.channel.origin.host)
}

/// The usage as reported, unless it cannot be true.
fn checked(usage: TokenUsage, request: &RequestView, candidate: Option<&Candidate>) -> UsageReport {
    let Some(count) = usage.implausible_count(1) else {
        return UsageReport::Counted(usage);
    };
    tracing::warn!(
        id = &*request.id,
        channel = candidate.map(|candidate| &*candidate.channel.name),
        count,
        "the provider reports usage that cannot be true, which is not counted"
    );
    UsageReport::Implausible
}

/// Whether a body without usage lacks it: a text was generated. A response that is being generated in the background has
/// no usage yet.
fn expects_usage(response: &ResponseView<'_>, body: &[u8]) -> bool {
    let (request, protocol) = (&response.request, response.channel_protocol());
    let costs_tokens = protocol.is_some_and(|protocol| {
        let descriptor = protocol.descriptor();
        matches!(descriptor.cost, DuplicateRequestCost::Tokens(_)) && descriptor.has_usage()
    });
    let is_post = request.method == Method::POST;
    costs_tokens && is_examined(is_post, request.endpoint_path()) && !is_pending(body)
}

/// Whether the response is the text of a sound, whose usage may be reported.
fn is_transcript(response: &ResponseView<'_>) -> bool {
    let descriptor = response.channel_protocol().map(|it| it.descriptor());
    let is_metered =
        descriptor.is_some_and(|it| it.medium == GenerationMedium::Transcript && it.has_usage());
    is_metered && response.request.method == Method::POST
}

/// Whether the cost of a response depends on the number of its images; only then they are counted.
fn counts_images(candidate: Option<&Candidate>) -> bool {
    let price = || candidate?.price();
    let protocol = candidate.and_then(|candidate| candidate.protocol);
    let medium = protocol.map(|protocol| protocol.descriptor().medium);
    medium == Some(GenerationMedium::Image) && price().is_some_and(ModelPrice::counts_images)
}
