//! Looks ids up in the file, on a thread of its own: a disk may be slow, and requests share their threads.

use super::file::{File, is_broken};
use crate::state::Unavailable;
use crate::state::health::{Operation, Tally};
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
const PATIENCE: Duration = Duration::from_secs(1);

/// Asks the reader.
pub struct Reader {
    questions: SyncSender<Question>,
    tally: Arc<Tally>,
}

struct Question {
    caller: Arc<str>,
    id: Box<str>,
    answer: oneshot::Sender<Result<Option<Arc<str>>, Unavailable>>,
}

impl Reader {
    /// Starts the thread, which ends with the last of those who ask.
    ///
    /// # Errors
    /// There can be no further thread.
    pub fn start(file: File, path: PathBuf, tally: Arc<Tally>) -> io::Result<Self> {
        let (questions, asked) = sync_channel(WAITING_MAX);
        thread::Builder::new()
            .name("state-reader".into())
            .spawn(move || answer_all(file, &path, &asked))?;
        Ok(Self { questions, tally })
    }

    /// The channel that made `id` for `caller`, as the file has it.
    ///
    /// # Errors
    /// The file cannot be read, or not in time.
    pub async fn channel_of(
        &self,
        caller: &Arc<str>,
        id: &str,
    ) -> Result<Option<Arc<str>>, Unavailable> {
        let found = self.ask(caller, id).await;
        if found.is_err() {
            self.tally.failed(Operation::ChannelOf);
        }
        found
    }

    async fn ask(&self, caller: &Arc<str>, id: &str) -> Result<Option<Arc<str>>, Unavailable> {
        let (answer, answered) = oneshot::channel();
        let question = Question {
            caller: caller.clone(),
            id: id.into(),
            answer,
        };
        self.questions
            .try_send(question)
            .map_err(|_| Unavailable("too many look-ups wait for the state file".into()))?;
        match tokio::time::timeout(PATIENCE, answered).await {
            Ok(Ok(found)) => found,
            Ok(Err(_)) => Err(Unavailable("the state file's reader has ended".into())),
            Err(_) => Err(Unavailable("the state file is slow".into())),
        }
    }
}

fn answer_all(mut file: File, path: &Path, asked: &Receiver<Question>) {
    let mut is_readable = true;
    while let Ok(question) = asked.recv() {
        // Whoever waited too long has left.
        if question.answer.is_closed() {
            continue;
        }
        let found = file.channel_of(&question.caller, &question.id);
        if let Err(error) = &found {
            if is_readable {
                tracing::error!(file = %path.display(), %error, "the state file cannot be read");
            }
            if is_broken(error)
                && let Ok(anew) = File::open(path)
            {
                file = anew;
            }
        }
        is_readable = found.is_ok();
        let found = found.map_err(|error| Unavailable(error.to_string()));
        // An answer that nobody waits for is none.
        let _ = question.answer.send(found);
    }
}
