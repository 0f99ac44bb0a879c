//! The values of an expression that reads nothing but one JSON document.

use crate::names::{DocumentKind, MapVariable, Variable};
use crate::values::ExpressionValueSource;
use headgate_protocol::json::DocumentNode;
use std::borrow::Cow;
use std::net::IpAddr;

/// One JSON document, and no request around it.
pub struct DocumentValues<'a> {
    /// As what `json` reads the document.
    pub kind: DocumentKind,
    pub root: DocumentNode<'a>,
}

impl ExpressionValueSource for DocumentValues<'_> {
    fn text(&self, _: Variable) -> Option<Cow<'_, str>> {
        None
    }

    fn number(&self, _: Variable) -> Option<i64> {
        None
    }

    fn entry(&self, _: MapVariable, _: &str) -> Option<Cow<'_, str>> {
        None
    }

    fn address(&self) -> Option<IpAddr> {
        None
    }

    fn document(&self, kind: DocumentKind) -> Option<DocumentNode<'_>> {
        (kind == self.kind).then_some(self.root)
    }

    fn request_id(&self) -> &str {
        ""
    }
}
