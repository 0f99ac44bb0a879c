//! Looks ids and notes up in the file, on a thread of its own: a disk may be slow, and requests share their threads.

use super::file::{StateFile, is_broken};
use crate::state::StoreUnavailable;
use crate::state::health::{StoreCounters, StoreOperation};
use bytes::Bytes;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// Questions that wait at most.
const WAITING_MAX: usize = 1_000;
/// A disk that takes longer is away.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Asks the reader.
pub struct StateFileReader {
    request_sender: SyncSender<ReadRequest>,
    tally: Arc<StoreCounters>,
}

/// What is asked, and where the answer goes.
enum ReadRequest {
    ChannelOf {
        caller: Arc<str>,
        id: Box<str>,
        responder: ReadResponder<Arc<str>>,
    },
    GetNote {
        key: Box<str>,
        responder: ReadResponder<Bytes>,
    },
}

type ReadResponder<T> = oneshot::Sender<Result<Option<T>, StoreUnavailable>>;

impl StateFileReader {
    /// Starts the thread, which ends with the last of those who ask.
    ///
    /// # Errors
    /// There can be no further thread.
    pub fn start(file: StateFile, path: PathBuf, tally: Arc<StoreCounters>) -> io::Result<Self> {
        let (request_sender, requests) = sync_channel(WAITING_MAX);
        thread::Builder::new()
            .name("state-reader".into())
            .spawn(move || serve_requests(file, &path, &requests))?;
        Ok(Self {
            request_sender,
            tally,
        })
    }

    /// The channel that made `id` for `caller`, as the file has it.
    ///
    /// # Errors
    /// The file cannot be read, or not in time.
    pub async fn channel_of(
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

    /// What was noted under `key`, as the file has it.
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

fn serve_requests(mut file: StateFile, path: &Path, requests: &Receiver<ReadRequest>) {
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
                && let Ok(anew) = StateFile::open(path)
            {
                file = anew;
            }
        }
        is_readable = read.is_ok();
    }
}

impl ReadRequest {
    /// Answers it, and says what was wrong with the file; none if whoever asked has left.
    fn serve(self, file: &StateFile) -> Option<rusqlite::Result<()>> {
        match self {
            Self::ChannelOf {
                caller,
                id,
                responder,
            } => respond_with(responder, || file.channel_of(&caller, &id)),
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
    // An answer that nobody waits for is none.
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
