//! Headers of providers' responses that callers do not get, for the filters to which the operator grants them.

use super::ResponseChain;
use crate::filter::view::RequestView;
use headgate_protocol::header_policy;
use headgate_protocol::mask::ChannelSecrets;
use http::HeaderMap;

/// The headers that any filter of the route is granted, in [`RequestView::state`]. A filter reads only its own.
#[derive(Default)]
pub struct GrantedResponseHeaders(pub HeaderMap);

impl ResponseChain {
    /// Keeps what filters are granted of the headers of a provider's response. Call it before
    /// [`Self::on_response_head`].
    pub fn keep_granted_headers(
        &self,
        request: &mut RequestView,
        from_provider: &HeaderMap,
        secrets: &ChannelSecrets,
    ) {
        for filter in &self.all {
            let names = filter.granted_response_headers();
            if !names.is_empty() {
                let granted =
                    header_policy::granted_response_headers(from_provider, names, secrets);
                let kept = request.state.get_or_default::<GrantedResponseHeaders>();
                kept.0.extend(granted);
            }
        }
    }
}
