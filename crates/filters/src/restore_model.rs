//! `restore_model`: replaces the channel's model name in responses with the platform model.

use bytes::{BufMut, Bytes, BytesMut};
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, read_settings_or_default, settings_schema,
};
use headgate_core::filter::view::{EventAction, EventView, RequestView, ResponseView};
use headgate_core::filter::{Filter, FilterDeclaration, HookResult, ResponseBodyAccess};
use headgate_protocol::stream;
use http::header;
use schemars::JsonSchema;
use serde::Deserialize;
use std::ops::Range;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "restore_model",
    summary: "Replaces the channel's model name in JSON responses with the platform model, and in streams with `{streams: true}`.",
    side: ChainSide::Response,
    placement: FilterChainRules::ANYWHERE,
    settings: Some(settings_schema::<RestoreModelConfig>),
    bare: true,
    build: |settings, _| {
        let RestoreModelConfig { streams } = read_settings_or_default(settings)?;
        Ok(Arc::new(RestoreModelFilter { streams }))
    },
};

/// Settings of `restore_model`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct RestoreModelConfig {
    /// Whether the model is replaced in streams, too. They are then forwarded event by event, and are not
    /// byte-identical to the provider's. Default: false.
    streams: bool,
}

struct RestoreModelFilter {
    streams: bool,
}

impl Filter for RestoreModelFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            response_body: ResponseBodyAccess::Replace,
            events: match self.streams {
                true => ResponseBodyAccess::Replace,
                false => ResponseBodyAccess::None,
            },
            ..FilterDeclaration::default()
        }
    }

    fn on_response_body<'a>(
        &'a self,
        response: &'a mut ResponseView<'_>,
        body: &'a mut Bytes,
    ) -> HookResult<'a, ()> {
        if response.status.is_success()
            && let (Some(name), Some(span)) =
                (platform_name(response.request), stream::model_span(body))
        {
            *body = spliced(body, span, &name);
            response.headers.remove(header::CONTENT_LENGTH);
        }
        HookResult::done()
    }

    fn on_event<'a>(&'a self, view: &'a mut EventView<'_>) -> HookResult<'a, ()> {
        if let (Some(name), Some(span)) = (
            platform_name(view.request),
            stream::model_span(view.event.data()),
        ) {
            view.action = EventAction::Replace(view.event.raw_with(span, name.as_bytes()));
        }
        HookResult::done()
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
