//! `remove_headers`: removes headers on the way to the provider, or to the caller in the response chain.

use super::kind::{FilterKind, InvalidSettings, Place, Side, read_settings, settings_schema};
use super::set_headers::header_name;
use super::view::{AnswerView, RequestView};
use super::{Filter, Step};
use http::HeaderName;
use std::sync::Arc;

pub const KIND: FilterKind = FilterKind {
    name: "remove_headers",
    summary: "Removes the named headers.",
    side: Side::Either,
    place: Place::ANYWHERE,
    settings: Some(settings_schema::<Vec<String>>),
    bare: false,
    build: |settings, parts| {
        let names = read_settings::<Vec<String>>(settings)?
            .iter()
            .enumerate()
            .map(|(index, name)| {
                header_name(name).map_err(|invalid| invalid.at(format!("/{index}")))
            })
            .collect::<Result<_, InvalidSettings>>()?;
        Ok(Arc::new(RemoveHeaders {
            side: parts.side,
            names,
        }))
    },
};

struct RemoveHeaders {
    side: Side,
    names: Vec<HeaderName>,
}

impl Filter for RemoveHeaders {
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> Step<'a> {
        for name in &self.names {
            request.header_edits.remove(name);
        }
        Step::next()
    }

    fn on_response_head(&self, answer: &mut AnswerView<'_>) {
        if self.side != Side::Response {
            return;
        }
        for name in &self.names {
            answer.headers.remove(name);
        }
    }
}
