//! Reads ids and notes from the file on a thread of its own, because a disk may be slow and requests share threads.

use super::file::{StateDatabase, is_broken};
use bytes::Bytes;
use headgate_core::state::StoreUnavailable;
use headgate_core::state::health::{StoreHealthCounters, StoreOperation};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;
use std::{io, thread};
use tokio::sync::oneshot;

/// The maximum number of waiting reads.
const WAITING_MAX: usize = 1_000;
/// The timeout of a read; a slower disk counts as unreachable.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// A handle that sends reads to the reader thread.
pub struct StateReaderHandle {
    request_sender: SyncSender<ReadRequest>,
    tally: Arc<StoreHealthCounters>,
}

/// A read, and where its result is sent.
enum ReadRequest {
    ChannelOf {
        caller: Arc<str>,
        id: Box<str>,
        responder: ReadResponder<Arc<str>>,
    },
    /// Whether the id, of this channel or of any, belongs to another caller.
    OtherOwner {
        caller: Arc<str>,
        id: Box<str>,
        channel: Option<Arc<str>>,
        responder: ReadResponder<()>,
    },
    GetNote {
        key: Box<str>,
        responder: ReadResponder<Bytes>,
    },
}

type ReadResponder<T> = oneshot::Sender<Result<Option<T>, StoreUnavailable>>;

impl StateReaderHandle {
    /// Starts the thread, which ends when the last handle is dropped.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(
        file: StateDatabase,
        path: PathBuf,
        tally: Arc<StoreHealthCounters>,
    ) -> io::Result<Self> {
        let (request_sender, requests) = sync_channel(WAITING_MAX);
        thread::Builder::new()
            .name("state-reader".into())
            .spawn(move || serve_requests(file, &path, &requests))?;
        Ok(Self {
            request_sender,
            tally,
        })
    }

    /// The channel that created `id` for `caller`, as stored in the file.
    ///
    /// # Errors
    /// The file cannot be read, or not in time.
    pub async fn find_channel(
        &self,
        caller: &Arc<str>,
        id: &str,
    ) -> Result<Option<Arc<str>>, StoreUnavailable> {
        let (responder, response) = oneshot::channel();
        let request = ReadRequest::ChannelOf {
            caller: caller.clone(),
            id: id.into(),
            responder,
        };
        let found = self.request(request, response).await;
        if found.is_err() {
            self.tally.failed(StoreOperation::ChannelOf);
        }
        found
    }

    /// Whether `id`, of `channel` or of any, belongs to another caller than `caller`, as stored in the file.
    ///
    /// # Errors
    /// The file cannot be read, or not in time.
    pub async fn is_of_another(
        &self,
        caller: &Arc<str>,
        id: &str,
        channel: Option<&Arc<str>>,
    ) -> Result<bool, StoreUnavailable> {
        let (responder, response) = oneshot::channel();
        let request = ReadRequest::OtherOwner {
            caller: caller.clone(),
            id: id.into(),
            channel: channel.cloned(),
            responder,
        };
        let found = self.request(request, response).await?;
        Ok(found.is_some())
    }

    /// The text that was stored under `key`, as stored in the file.
    ///
    /// # Errors
    /// The file cannot be read, or not in time.
    pub async fn get_note(&self, key: &str) -> Result<Option<Bytes>, StoreUnavailable> {
        let (responder, response) = oneshot::channel();
        let key = key.into();
        let found = self
            .request(ReadRequest::GetNote { key, responder }, response)
            .await;
        if found.is_err() {
            self.tally.failed(StoreOperation::GetNote);
        }
        found
    }

    async fn request<T>(
        &self,
        request: ReadRequest,
        response: oneshot::Receiver<Result<Option<T>, StoreUnavailable>>,
    ) -> Result<Option<T>, StoreUnavailable> {
        self.request_sender.try_send(request).map_err(|_| {
            StoreUnavailable("too many lookups are waiting for the state file".into())
        })?;
        match tokio::time::timeout(MAX_WAIT, response).await {
            Ok(Ok(found)) => found,
            Ok(Err(_)) => Err(StoreUnavailable(
                "the reader thread of the state file has stopped".into(),
            )),
            Err(_) => Err(StoreUnavailable("timeout reading the state file".into())),
        }
    }
}

fn serve_requests(mut file: StateDatabase, path: &Path, requests: &Receiver<ReadRequest>) {
    let mut is_readable = true;
    while let Ok(request) = requests.recv() {
        let Some(read) = request.serve(&file) else {
            continue;
        };
        if let Err(error) = &read {
            if is_readable {
                tracing::error!(file = %path.display(), %error, "cannot read the state file");
            }
            if is_broken(error)
                && let Ok(reopened) = StateDatabase::open(path)
            {
                file = reopened;
            }
        }
        is_readable = read.is_ok();
    }
}

impl ReadRequest {
    /// Runs the read and sends its result; returns the file's error, or `None` if the requester has gone.
    fn serve(self, file: &StateDatabase) -> Option<rusqlite::Result<()>> {
        match self {
            Self::ChannelOf {
                caller,
                id,
                responder,
            } => respond_with(responder, || file.find_channel(&caller, &id)),
            Self::OtherOwner {
                caller,
                id,
                channel,
                responder,
            } => respond_with(responder, || {
                file.find_other_owner(&caller, &id, channel.as_deref())
            }),
            Self::GetNote { key, responder } => respond_with(responder, || file.get_note(&key)),
        }
    }
}

fn respond_with<T>(
    responder: ReadResponder<T>,
    read: impl FnOnce() -> rusqlite::Result<Option<T>>,
) -> Option<rusqlite::Result<()>> {
    if responder.is_closed() {
        return None;
    }
    // The receiver may have gone; its result is then dropped.
    Some(match read() {
        Ok(found) => {
            let _ = responder.send(Ok(found));
            Ok(())
        }
        Err(error) => {
            let _ = responder.send(Err(StoreUnavailable(error.to_string())));
            Err(error)
        }
    })
}
