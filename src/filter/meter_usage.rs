//! `meter_usage`: reads the tokens that the provider counted, from JSON answers and from streams.

use super::kind::{FilterKind, Place, Side};
use super::view::{AnswerKind, AnswerView, FrameView};
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
            answer.request.facts.meter = Some(Meter::new(protocol));
        }
    }

    fn on_response_body<'a>(
        &'a self,
        answer: &'a mut AnswerView<'_>,
        body: &'a mut Bytes,
    ) -> Step<'a, ()> {
        if let Some(protocol) = answer.request.protocol {
            answer.request.facts.usage = usage::from_json(protocol, body);
        }
        Step::done()
    }

    fn on_event(&self, frame: &mut FrameView<'_>) {
        if let Some(meter) = &mut frame.request.facts.meter {
            meter.event(frame.event.name(), frame.event.data());
        }
    }
}
