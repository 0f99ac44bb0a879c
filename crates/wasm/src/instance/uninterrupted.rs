//! A future that completes even if whoever waits for it goes away.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// A future that is moved to a task of its own if it is dropped before it has completed.
///
/// A call into a plugin that is cut off leaves the plugin's memory in the middle of a change.
pub(crate) struct UninterruptedCall<T: Send + 'static>(
    Option<Pin<Box<dyn Future<Output = T> + Send>>>,
);

impl<T: Send + 'static> UninterruptedCall<T> {
    pub fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self(Some(Box::pin(future)))
    }
}

impl<T: Send + 'static> Future for UninterruptedCall<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Some(future) = &mut self.0 else {
            return Poll::Pending;
        };
        let result = future.as_mut().poll(context);
        if result.is_ready() {
            self.0 = None;
        }
        result
    }
}

impl<T: Send + 'static> Drop for UninterruptedCall<T> {
    fn drop(&mut self) {
        if let (Some(future), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(async move { drop(future.await) });
        }
    }
}
