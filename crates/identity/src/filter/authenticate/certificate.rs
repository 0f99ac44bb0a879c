//! Authenticates by the client certificate of a connection.

use super::AuthenticateFilter;
use super::key_place::refuse;
use headgate_core::catalog::caller::client_certificate::CallerCertificate;
use headgate_core::catalog::caller::{AmbiguousCertificate, Caller};
use headgate_core::filter::view::RequestView;
use headgate_protocol::fault::Fault;
use http::header::AUTHORIZATION;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// Which of a certificate and a key authenticates a request with both.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum CertificatePrecedence {
    First,
    Last,
}

impl AuthenticateFilter {
    /// The caller whom the client certificate authenticates, if that has precedence over what else is sent.
    pub(super) fn identify_by_certificate(
        &self,
        request: &RequestView,
    ) -> Result<Option<Arc<Caller>>, Fault> {
        let (Some(precedence), Some(certificate)) =
            (self.certificates, request.state.get::<CallerCertificate>())
        else {
            return Ok(None);
        };
        let has_key = || {
            let mut names = self.key_headers.iter().chain([&AUTHORIZATION]);
            names.any(|name| request.headers.contains_key(name))
        };
        if precedence == CertificatePrecedence::Last && has_key() {
            return Ok(None);
        }
        let found = self.callers.find_by_certificate(certificate);
        let found = found.map_err(|AmbiguousCertificate| certificate_refused(certificate))?;
        match found {
            Some(caller) => {
                if let Some(key) = &caller.key {
                    self.check_key(key, &caller, request.client.as_ref())?;
                }
                Ok(Some(caller))
            }
            None if has_key() => Ok(None),
            None => Err(certificate_refused(certificate)),
        }
    }
}

/// The error for a certificate that names no caller, or two.
fn certificate_refused(certificate: &CallerCertificate) -> Fault {
    let names: Vec<&str> = certificate.names().iter().map(|name| &*name.text).collect();
    let message = "your client certificate names no caller of this gateway; send an API key, or ask the operator of this gateway";
    refuse(message).detail(format!("the client certificate has the names {names:?}"))
}
