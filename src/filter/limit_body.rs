//! `limit_body`: the most bytes of body that this route reads; 413 beyond.

use super::kind::{FilterKind, Side, read_settings, settings_schema};
use super::view::RequestView;
use super::{Filter, Step};
use crate::protocol::fault::{Fault, FaultKind};
use crate::scalar::ByteSize;
use http::header;
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "limit_body",
    summary: "Bounds the request body, as in `limit_body: 32MiB`; 413 beyond, before it is read where its length is declared.",
    side: Side::Request,
    settings: Some(settings_schema::<ByteSize>),
    bare: false,
    build: |settings, _| {
        let most = read_settings::<ByteSize>(settings)?.bytes();
        Ok(Arc::new(LimitBody { most }))
    },
};

struct LimitBody {
    most: u64,
}

impl Filter for LimitBody {
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        request.body_limit = self.most;
        let declared = request
            .header(header::CONTENT_LENGTH.as_str())
            .and_then(|length| length.parse::<u64>().ok());
        match declared {
            Some(length) if length > self.most => Step::fail(too_large(self.most)),
            _ => Step::next(),
        }
    }
}

/// The fault of a body over its limit of `most` bytes.
pub fn too_large(most: u64) -> Fault {
    Fault::new(
        FaultKind::TooLarge,
        format!("the request body is larger than the {most} bytes accepted here; send less"),
    )
}
