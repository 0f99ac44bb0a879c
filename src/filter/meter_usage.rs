//! `meter_usage`: reads the tokens that the provider counted, from JSON answers and from streams.

use super::kind::{FilterKind, Place, Side};
use super::stream_info::UsageReport;
use super::view::{AnswerKind, AnswerView, FrameView, RequestView};
use super::{Access, Declaration, Filter, Step};
use crate::protocol::usage::{self, Meter};
use bytes::Bytes;
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "meter_usage",
    summary: "Reads the tokens that the provider counted, for metrics and the access log.",
    side: Side::Response,
    place: Place::ANYWHERE,
    settings: None,
    bare: true,
    build: |_, _| Ok(Arc::new(MeterUsage)),
};

struct MeterUsage;

impl Filter for MeterUsage {
    fn declare(&self) -> Declaration {
        Declaration {
            response_body: Access::Observe,
            events: Access::Observe,
            ..Declaration::default()
        }
    }

    fn on_response_head(&self, answer: &mut AnswerView<'_>) {
        if let (AnswerKind::Stream, Some(protocol)) = (answer.kind, answer.request.protocol) {
            answer.request.info.usage = UsageReport::Missing;
            answer.request.state.set(Meter::new(protocol));
        }
    }

    fn on_response_body<'a>(
        &'a self,
        answer: &'a mut AnswerView<'_>,
        body: &'a mut Bytes,
    ) -> Step<'a, ()> {
        let protocol = answer.request.protocol;
        if let Some(usage) = protocol.and_then(|protocol| usage::from_json(protocol, body)) {
            answer.request.info.usage = UsageReport::Counted(usage);
        }
        Step::done()
    }

    fn on_event(&self, frame: &mut FrameView<'_>) {
        if let Some(meter) = frame.request.state.get_mut::<Meter>() {
            meter.event(frame.event.name(), frame.event.data());
        }
    }

    fn on_response_end(&self, request: &mut RequestView) {
        if let Some(usage) = request.state.get::<Meter>().and_then(Meter::usage) {
            request.info.usage = UsageReport::Counted(usage);
        }
    }
}
