//! What an instance is called for between the callbacks of its streams.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::host_services::PluginHttpResponse;
use crate::plugin_resources::HttpCallPermit;

/// What an instance is called for between the callbacks of its streams.
pub(crate) enum BackgroundCall {
    Tick,
    /// A queue has an entry.
    QueueReady(u32),
    /// A call has a response, or will have none.
    HttpResponse {
        context: u32,
        id: u32,
        response: Option<Box<PluginHttpResponse>>,
        /// Of the call, which ends when the instance takes the response.
        permit: HttpCallPermit,
    },
}

/// An instance, as its own tasks know it.
pub(crate) trait BackgroundCallRunner: Send + Sync {
    /// Runs a call when no other runs. False if the instance is gone.
    fn run(self: Arc<Self>, call: BackgroundCall) -> Pin<Box<dyn Future<Output = bool> + Send>>;
}
