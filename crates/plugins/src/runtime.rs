//! The runtime of work that plugins do beside requests: their start, timers, and the end of their streams.

use std::future::Future;
use std::io;
use std::sync::mpsc;
use tokio::runtime::{Builder, Handle, Runtime};

/// A runtime with one thread. It ends with this value, without waiting for plugins.
pub struct PluginBackgroundRuntime(Option<Runtime>);

impl PluginBackgroundRuntime {
    /// # Errors
    /// The thread cannot be started.
    pub fn start() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("plugins")
            .enable_time()
            .enable_io()
            .build()?;
        Ok(Self(Some(runtime)))
    }

    pub fn handle(&self) -> &Handle {
        let runtime = self.0.as_ref();
        runtime
            .expect("the runtime is only taken when this value is dropped")
            .handle()
    }

    /// Waits for work on the runtime. Unlike `block_on`, this may be called on the thread of another runtime.
    ///
    /// # Errors
    /// The work panicked.
    pub fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, mpsc::RecvError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.handle().spawn(async move {
            // The receiver waits below.
            let _ = sender.send(work.await);
        });
        receiver.recv()
    }
}

impl Drop for PluginBackgroundRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
