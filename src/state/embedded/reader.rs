//! Looks ids and notes up in the file, on a thread of its own: a disk may be slow, and requests share their threads.

use super::file::{File, is_broken};
use crate::state::Unavailable;
use crate::state::health::{Operation, Tally};
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
const PATIENCE: Duration = Duration::from_secs(1);

/// Asks the reader.
pub struct Reader {
    questions: SyncSender<Question>,
    tally: Arc<Tally>,
}

/// What is asked, and where the answer goes.
enum Question {
    ChannelOf {
        caller: Arc<str>,
        id: Box<str>,
        answer: Answer<Arc<str>>,
    },
    Noted {
        key: Box<str>,
        answer: Answer<Bytes>,
    },
}

type Answer<T> = oneshot::Sender<Result<Option<T>, Unavailable>>;

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
        let (answer, answered) = oneshot::channel();
        let question = Question::ChannelOf {
            caller: caller.clone(),
            id: id.into(),
            answer,
        };
        let found = self.ask(question, answered).await;
        if found.is_err() {
            self.tally.failed(Operation::ChannelOf);
        }
        found
    }

    /// What was noted under `key`, as the file has it.
    ///
    /// # Errors
    /// The file cannot be read, or not in time.
    pub async fn noted(&self, key: &str) -> Result<Option<Bytes>, Unavailable> {
        let (answer, answered) = oneshot::channel();
        let key = key.into();
        let found = self.ask(Question::Noted { key, answer }, answered).await;
        if found.is_err() {
            self.tally.failed(Operation::Noted);
        }
        found
    }

    async fn ask<T>(
        &self,
        question: Question,
        answered: oneshot::Receiver<Result<Option<T>, Unavailable>>,
    ) -> Result<Option<T>, Unavailable> {
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
        let Some(read) = question.answer_from(&file) else {
            continue;
        };
        if let Err(error) = &read {
            if is_readable {
                tracing::error!(file = %path.display(), %error, "the state file cannot be read");
            }
            if is_broken(error)
                && let Ok(anew) = File::open(path)
            {
                file = anew;
            }
        }
        is_readable = read.is_ok();
    }
}

impl Question {
    /// Answers it, and says what was wrong with the file; none if whoever asked has left.
    fn answer_from(self, file: &File) -> Option<rusqlite::Result<()>> {
        match self {
            Self::ChannelOf { caller, id, answer } => {
                tell(answer, || file.channel_of(&caller, &id))
            }
            Self::Noted { key, answer } => tell(answer, || file.noted(&key)),
        }
    }
}

fn tell<T>(
    answer: Answer<T>,
    read: impl FnOnce() -> rusqlite::Result<Option<T>>,
) -> Option<rusqlite::Result<()>> {
    if answer.is_closed() {
        return None;
    }
    // An answer that nobody waits for is none.
    Some(match read() {
        Ok(found) => {
            let _ = answer.send(Ok(found));
            Ok(())
        }
        Err(error) => {
            let _ = answer.send(Err(Unavailable(error.to_string())));
            Err(error)
        }
    })
}
