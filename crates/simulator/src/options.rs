//! Default behaviour of the simulated provider, which directives override.

/// The default behaviour of a [`Simulator`](super::Simulator), which directives override.
#[derive(Clone, Debug)]
pub struct SimulatorDefaults {
    /// Delay of the response head, in milliseconds.
    pub first_byte_ms: u64,
    /// Delay between the content events of a stream, in milliseconds.
    pub event_ms: u64,
    /// Length of a response, in tokens of four bytes.
    pub answer_tokens: u64,
    /// Duration of a background response, in milliseconds.
    pub background_ms: u64,
    /// How long a video task is queued, in milliseconds.
    pub queue_ms: u64,
    /// How long a video task runs, in milliseconds.
    pub run_ms: u64,
    /// The models that are listed; requests may use any other model, too.
    pub models: Vec<String>,
    /// Whether requests are recorded. Open requests are counted in any case.
    pub record: bool,
}

impl Default for SimulatorDefaults {
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
