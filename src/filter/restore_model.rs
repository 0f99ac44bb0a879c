//! `restore_model`: answers name the platform model again, instead of the channel's.

use super::kind::{FilterKind, Place, Side, read_settings_or_default, settings_schema};
use super::view::{AnswerView, FrameView, RequestView, Verdict};
use super::{Access, Declaration, Filter, Step};
use crate::protocol::stream;
use bytes::{BufMut, Bytes, BytesMut};
use http::header;
use schemars::JsonSchema;
use serde::Deserialize;
use std::ops::Range;
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "restore_model",
    summary: "Puts the platform model's name into JSON answers, and into streams with `{streams: true}`.",
    side: Side::Response,
    place: Place::ANYWHERE,
    settings: Some(settings_schema::<RestoreModelConfig>),
    bare: true,
    build: |settings, _| {
        let RestoreModelConfig { streams } = read_settings_or_default(settings)?;
        Ok(Arc::new(RestoreModel { streams }))
    },
};

/// Settings of `restore_model`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct RestoreModelConfig {
    /// Also in streamed answers, whose events are then no longer the provider's byte for byte.
    streams: bool,
}

struct RestoreModel {
    streams: bool,
}

impl Filter for RestoreModel {
    fn declare(&self) -> Declaration {
        Declaration {
            response_body: Access::Replace,
            events: match self.streams {
                true => Access::Replace,
                false => Access::None,
            },
            ..Declaration::default()
        }
    }

    fn on_response_body<'a>(
        &'a self,
        answer: &'a mut AnswerView<'_>,
        body: &'a mut Bytes,
    ) -> Step<'a, ()> {
        if answer.status.is_success()
            && let (Some(name), Some(span)) =
                (platform_name(answer.request), stream::model_span(body))
        {
            *body = spliced(body, span, &name);
            answer.headers.remove(header::CONTENT_LENGTH);
        }
        Step::done()
    }

    fn on_event(&self, frame: &mut FrameView<'_>) {
        if let (Some(name), Some(span)) = (
            platform_name(frame.request),
            stream::model_span(frame.event.data()),
        ) {
            frame.verdict = Verdict::Replace(frame.event.raw_with(span, name.as_bytes()));
        }
    }
}

fn platform_name(request: &RequestView) -> Option<String> {
    request
        .model()
        .map(|model| serde_json::Value::from(&*model.name).to_string())
}

fn spliced(body: &[u8], span: Range<usize>, with: &str) -> Bytes {
    let mut out = BytesMut::with_capacity(body.len() + with.len());
    out.put_slice(&body[..span.start]);
    out.put_slice(with.as_bytes());
    out.put_slice(&body[span.end..]);
    out.freeze()
}
