//! How the simulated provider behaves where no directive says otherwise.

/// How a [`Simulator`](super::Simulator) behaves where no directive says otherwise.
#[derive(Clone, Debug)]
pub struct SimulatorOptions {
    /// Time before the head of every answer, in milliseconds.
    pub first_byte_ms: u64,
    /// Time between the content events of a stream, in milliseconds.
    pub event_ms: u64,
    /// Length of an ordinary answer, in tokens of four bytes.
    pub answer_tokens: u64,
    /// Time a background response takes, in milliseconds.
    pub background_ms: u64,
    /// Time a video task is queued, in milliseconds.
    pub queue_ms: u64,
    /// Time a video task runs, in milliseconds.
    pub run_ms: u64,
    /// The models listed; requests may name any other too.
    pub models: Vec<String>,
    /// Whether requests are recorded; the open ones are counted either way.
    pub record: bool,
}

impl Default for SimulatorOptions {
    fn default() -> Self {
        Self {
            first_byte_ms: 0,
            event_ms: 0,
            answer_tokens: 60,
            background_ms: 2_000,
            queue_ms: 300,
            run_ms: 600,
            models: ["simulated-small", "simulated-large"]
                .map(str::to_owned)
                .to_vec(),
            record: true,
        }
    }
}
