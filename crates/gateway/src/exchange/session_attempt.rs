//! The attempt of a session: the handshake at the provider, with the channel's name of the model in the query.

use bytes::Bytes;
use headgate_core::filter::view::{AttemptView, RequestView};
use headgate_websocket::provider_handshake::ProviderHandshake;
use http::{Method, header};

/// The member of the query that names the model.
const MODEL: &str = "model";

/// Makes the attempt of a request of a session, if it is one, the handshake at the provider. Returns whether it is one.
pub(super) fn become_handshake(request: &RequestView, attempt: &mut AttemptView) -> bool {
    let Some(handshake) = request.state.get::<ProviderHandshake>() else {
        return false;
    };
    let replacement = &mut attempt.request_override;
    replacement.method = Some(Method::GET);
    replacement.body = Some(Bytes::new());
    attempt.headers.remove(header::CONTENT_TYPE);
    attempt.headers.extend(handshake.request_headers());
    if let Some(model) = &attempt.candidate.model {
        let name = model.name.to_string();
        attempt.query_members.push((MODEL.to_owned(), name));
    }
    true
}
