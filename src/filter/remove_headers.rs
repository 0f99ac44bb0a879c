//! `remove_headers`: removes request headers for the provider, or response headers for the caller.

use super::descriptor::{
    ChainSide, FilterDescriptor, FilterPlacement, InvalidSettings, read_settings, settings_schema,
};
use super::set_headers::header_name;
use super::view::{RequestView, ResponseView};
use super::{Filter, HookResult};
use http::HeaderName;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "remove_headers",
    summary: "Removes the listed headers.",
    side: ChainSide::Either,
    placement: FilterPlacement::ANYWHERE,
    settings: Some(settings_schema::<Vec<String>>),
    bare: false,
    build: |settings, context| {
        let names = read_settings::<Vec<String>>(settings)?
            .iter()
            .enumerate()
            .map(|(index, name)| {
                header_name(name).map_err(|invalid| invalid.at(format!("/{index}")))
            })
            .collect::<Result<_, InvalidSettings>>()?;
        Ok(Arc::new(RemoveHeadersFilter {
            side: context.side,
            names,
        }))
    },
};

struct RemoveHeadersFilter {
    side: ChainSide,
    names: Vec<HeaderName>,
}

impl Filter for RemoveHeadersFilter {
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        for name in &self.names {
            request.header_edits.remove(name);
        }
        HookResult::next()
    }

    fn on_response_head(&self, response: &mut ResponseView<'_>) {
        if self.side != ChainSide::Response {
            return;
        }
        for name in &self.names {
            response.headers.remove(name);
        }
    }
}
