//! What `headgate top` reads from the admin pages, and the thread that reads it every second.

use crate::cli::CommandError;
use crate::cli::admin_client::{AdminClient, AdminRequestArgs, AdminUrl};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

const PERIOD: Duration = Duration::from_secs(1);
/// Updates that wait for the screen. The gateway is not read while there are more.
const WAITING_MAX: usize = 8;
const TOO_MANY_REQUESTS: u16 = 429;

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
pub(super) enum FetchFailure {
    /// It may work later.
    Unreachable(String),
    /// The request is wrong, or its key is.
    Refused(String),
}

/// The admin pages of one gateway.
pub(super) struct TopFeed {
    url: AdminUrl,
    args: AdminRequestArgs,
}

/// The updates that a thread reads.
pub(super) struct TopUpdates {
    pub received: Receiver<TopUpdate>,
    /// Whether the recent requests are shown, and therefore read.
    pub wants_recent: Arc<AtomicBool>,
}

impl FetchFailure {
    pub fn into_error(self) -> CommandError {
        let (Self::Unreachable(message) | Self::Refused(message)) = self;
        CommandError::new(message)
    }

    fn into_update(self) -> TopUpdate {
        match self {
            Self::Unreachable(message) => TopUpdate::Disconnected(message),
            Self::Refused(message) => TopUpdate::Refused(message),
        }
    }
}

impl TopFeed {
    pub fn new(url: AdminUrl, args: AdminRequestArgs) -> Self {
        Self { url, args }
    }

    /// All pages, once.
    pub fn everything(&self) -> Result<Vec<TopUpdate>, FetchFailure> {
        Ok(vec![self.traffic()?, self.overview()?, self.recent()?])
    }

    /// Reads the pages every second in a thread of its own, because a gateway may respond late.
    pub fn start(self) -> TopUpdates {
        let (sender, received) = sync_channel(WAITING_MAX);
        let wants_recent = Arc::new(AtomicBool::new(false));
        let updates = TopUpdates {
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

    fn latest(&self, with_recent: bool) -> Result<Vec<TopUpdate>, FetchFailure> {
        let mut updates = vec![self.overview()?];
        if with_recent {
            updates.push(self.recent()?);
        }
        Ok(updates)
    }

    fn overview(&self) -> Result<TopUpdate, FetchFailure> {
        self.page("/overview").map(TopUpdate::Overview)
    }

    fn traffic(&self) -> Result<TopUpdate, FetchFailure> {
        self.page("/traffic").map(TopUpdate::Traffic)
    }

    fn recent(&self) -> Result<TopUpdate, FetchFailure> {
        self.page("/requests").map(TopUpdate::Recent)
    }

    fn page(&self, path: &str) -> Result<Value, FetchFailure> {
        let client = AdminClient {
            url: &self.url,
            args: &self.args,
        };
        let response = client.fetch("GET", path);
        let response = response.map_err(|error| FetchFailure::Unreachable(error.message))?;
        let is_refusal =
            (400..500).contains(&response.status) && response.status != TOO_MANY_REQUESTS;
        client
            .json_in(&response, path)
            .map_err(|error| match is_refusal {
                true => FetchFailure::Refused(error.message),
                false => FetchFailure::Unreachable(error.message),
            })
    }
}
