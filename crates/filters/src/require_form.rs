//! `require_form`: 415 unless the body is an uncompressed `multipart/form-data` with one boundary.

use headgate_core::filter::contract::RouteApiDescription;
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, InvalidSettings,
};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, FilterDeclaration, HookResult};
use headgate_protocol::Protocol;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::request_coding;
use http::header;
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "require_form",
    summary: "Replies 415 to bodies other than `multipart/form-data`; for endpoints that take forms only, such as transcriptions.",
    side: ChainSide::Request,
    placement: FilterChainRules::ALWAYS,
    settings: None,
    bare: true,
    build: |_, context| {
        let has_forms = |protocol: Protocol| protocol.descriptor().forms.is_some();
        if !context.protocol.is_some_and(has_forms) {
            return Err(InvalidSettings::new(
                "`require_form` requires a route whose protocol has forms",
            )
            .hint("write `body: form` in the declaration of the protocol, or remove the filter"));
        }
        Ok(Arc::new(RequireFormFilter))
    },
};

struct RequireFormFilter;

impl Filter for RequireFormFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            reads_body: true,
            ..FilterDeclaration::default()
        }
    }

    fn add_to_contract(&self, contract: &mut RouteApiDescription) {
        contract.accepts_form = true;
        contract.requires_form = true;
        contract.checks_content_type = true;
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        request.takes_form = request.form_boundary().is_some();
        HookResult::from(check(request))
    }
}

fn check(request: &RequestView) -> Result<(), Fault> {
    if request.takes_form {
        return request_coding::from_headers(&request.headers).map(drop);
    }
    let sent = request.headers.get_all(header::CONTENT_TYPE).iter().count();
    let problem = match sent {
        0 => "is missing",
        1 => "is another one, or has no single plain boundary",
        _ => "was received more than once",
    };
    Err(Fault::new(
        FaultKind::UnsupportedMedia,
        format!("content-type {problem}; send `multipart/form-data` with its boundary"),
    )
    .param("content-type"))
}
