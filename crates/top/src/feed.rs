//! What `headgate top` reads from the admin pages, and the thread that reads it every second.

use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

const PERIOD: Duration = Duration::from_secs(1);
/// Updates that wait for the screen. The gateway is not read while there are more.
const WAITING_MAX: usize = 8;

/// What a page contains, or why there is none.
#[derive(Debug)]
pub(super) enum TopUpdate {
    /// `/overview`.
    Overview(Value),
    /// `/traffic`.
    Traffic(Value),
    /// `/requests`.
    Recent(Value),
    /// The gateway does not respond now.
    Disconnected(String),
    /// The gateway refuses to be read.
    Refused(String),
}

/// Why a page could not be read.
pub enum AdminPageError {
    /// It may work later.
    Unreachable(String),
    /// The request is wrong, or its key is.
    Refused(String),
}

/// Reads the admin pages of one gateway.
pub trait AdminPageSource: Send {
    /// The JSON of the page at `path`.
    ///
    /// # Errors
    /// There is none, with a message for the terminal.
    fn page(&self, path: &str) -> Result<Value, AdminPageError>;
}

/// The admin pages of one gateway.
pub(super) struct TopFeed {
    source: Box<dyn AdminPageSource>,
}

/// The updates that a thread reads.
pub(super) struct TopUpdateReceiver {
    pub received: Receiver<TopUpdate>,
    /// Whether the recent requests are shown, and therefore read.
    pub wants_recent: Arc<AtomicBool>,
}

impl AdminPageError {
    pub(super) fn into_message(self) -> String {
        let (Self::Unreachable(message) | Self::Refused(message)) = self;
        message
    }

    fn into_update(self) -> TopUpdate {
        match self {
            Self::Unreachable(message) => TopUpdate::Disconnected(message),
            Self::Refused(message) => TopUpdate::Refused(message),
        }
    }
}

impl TopFeed {
    pub fn new(source: Box<dyn AdminPageSource>) -> Self {
        Self { source }
    }

    /// All pages, once.
    pub fn everything(&self) -> Result<Vec<TopUpdate>, AdminPageError> {
        Ok(vec![self.traffic()?, self.overview()?, self.recent()?])
    }

    /// Reads the pages every second in a thread of its own, because a gateway may respond late.
    pub fn start(self) -> TopUpdateReceiver {
        let (sender, received) = sync_channel(WAITING_MAX);
        let wants_recent = Arc::new(AtomicBool::new(false));
        let updates = TopUpdateReceiver {
            received,
            wants_recent: wants_recent.clone(),
        };
        thread::spawn(move || self.repeat(&sender, &wants_recent));
        updates
    }

    /// Ends when the receiver has ended, or the gateway refuses to be read.
    fn repeat(&self, sender: &SyncSender<TopUpdate>, wants_recent: &AtomicBool) {
        let mut was_disconnected = false;
        loop {
            let began = Instant::now();
            let read = match was_disconnected {
                // A gateway that has started again has another history.
                true => self.everything(),
                false => self.latest(wants_recent.load(Ordering::Relaxed)),
            };
            let updates = read.unwrap_or_else(|failure| vec![failure.into_update()]);
            was_disconnected = matches!(updates[..], [TopUpdate::Disconnected(_)]);
            let is_refused = matches!(updates[..], [TopUpdate::Refused(_)]);
            let mut sent = updates.into_iter().map(|update| sender.send(update));
            if sent.any(|sent| sent.is_err()) || is_refused {
                return;
            }
            thread::sleep(PERIOD.saturating_sub(began.elapsed()));
        }
    }

    fn latest(&self, with_recent: bool) -> Result<Vec<TopUpdate>, AdminPageError> {
        let mut updates = vec![self.overview()?];
        if with_recent {
            updates.push(self.recent()?);
        }
        Ok(updates)
    }

    fn overview(&self) -> Result<TopUpdate, AdminPageError> {
        self.page("/overview").map(TopUpdate::Overview)
    }

    fn traffic(&self) -> Result<TopUpdate, AdminPageError> {
        self.page("/traffic").map(TopUpdate::Traffic)
    }

    fn recent(&self) -> Result<TopUpdate, AdminPageError> {
        self.page("/requests").map(TopUpdate::Recent)
    }

    fn page(&self, path: &str) -> Result<Value, AdminPageError> {
        self.source.page(path)
    }
}
