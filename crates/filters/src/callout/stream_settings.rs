//! The settings of `callout` for streams.

use headgate_core::filter::descriptor::{BuildContext, ChainSide, InvalidSettings};
use headgate_core::filter::output_check::{HoldWindow, OutputCheckMode};
use headgate_core::scalar::{ByteSize, HumanDuration};
use schemars::JsonSchema;
use serde::Deserialize;

/// How much of a stream is held: until the first of these limits.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StreamHoldWindowConfig {
    /// Maximum events of a window, 1 to 10000. Lower it to send text earlier, raise it for fewer calls. Default: 16.
    #[schemars(range(min = 1, max = 10_000))]
    events: u32,
    /// Maximum size of the events of a window, up to 16MiB; one event may exceed it. Default: 16KiB.
    bytes: ByteSize,
    /// Maximum time for which events are held before the service is called, up to 1m. Default: 200ms.
    time: HumanDuration,
    /// How much of each text before a window is sent with it, up to 64KiB. Set it to the length of the longest text that
    /// the service must see as a whole. Default: 1KiB.
    overlap: ByteSize,
}

/// What happens to requests for streams.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum StreamRequestPolicyConfig {
    /// They get 400.
    Refuse,
}

/// What becomes of streams.
///
/// # Errors
/// An output check would be skipped by streaming.
pub fn output_check(
    hold: Option<&StreamHoldWindowConfig>,
    streams: Option<StreamRequestPolicyConfig>,
    context: &BuildContext<'_>,
) -> Result<OutputCheckMode, InvalidSettings> {
    if context.side == ChainSide::Request {
        let misplaced = match (hold, streams) {
            (Some(_), _) => "hold",
            (None, Some(_)) => "streams",
            (None, None) => return Ok(OutputCheckMode::None),
        };
        return Err(
            InvalidSettings::new(format!("`{misplaced}` is for the response chain"))
                .at(format!("/{misplaced}")),
        );
    }
    let protocol = context.protocol;
    let streams_exist = protocol.is_none_or(|protocol| protocol.descriptor().has_streams());
    match (hold, streams) {
        (Some(_), Some(_)) => Err(InvalidSettings::new(
            "`hold` and `streams: refuse` are mutually exclusive",
        )
        .at("/streams")),
        (Some(hold), None) => hold.window().map(OutputCheckMode::Streams),
        (None, Some(StreamRequestPolicyConfig::Refuse)) => Ok(OutputCheckMode::WholeBodies),
        (None, None) if streams_exist => Err(InvalidSettings::new(
            "streams of this route would pass without a check",
        )
        .hint("add `hold: {}` to check them window by window, or `streams: refuse`")),
        (None, None) => Ok(OutputCheckMode::WholeBodies),
    }
}

impl StreamHoldWindowConfig {
    /// Text before a window that is sent with it, in bytes.
    pub fn overlap(&self) -> usize {
        usize::try_from(self.overlap.bytes()).unwrap_or(usize::MAX)
    }

    fn window(&self) -> Result<HoldWindow, InvalidSettings> {
        const MIB: u64 = 1 << 20;
        let beyond = |name: &str, most: &str| {
            let reason = format!("`{name}` must be at most {most}");
            Err(InvalidSettings::new(reason).at(format!("/hold/{name}")))
        };
        if self.bytes.bytes() > 16 * MIB {
            return beyond("bytes", "16MiB");
        }
        if self.time > HumanDuration::seconds(60) {
            return beyond("time", "1m");
        }
        if self.overlap > ByteSize::kibibytes(64) {
            return beyond("overlap", "64KiB");
        }
        Ok(HoldWindow {
            events: self.events,
            bytes: self.bytes.bytes(),
            time: self.time.duration(),
        })
    }
}

impl Default for StreamHoldWindowConfig {
    fn default() -> Self {
        Self {
            events: 16,
            bytes: ByteSize::kibibytes(16),
            time: HumanDuration::milliseconds(200),
            overlap: ByteSize::kibibytes(1),
        }
    }
}
