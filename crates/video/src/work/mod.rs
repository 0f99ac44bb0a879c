//! What bounds the work beside requests: permits in flight, turns on the query limits of channels, and lines in the log.

mod blocked_channels;
mod poll_turns;
mod work_limiter;

pub(crate) use blocked_channels::LoggedBlockedChannels;
pub(crate) use poll_turns::ChannelPollTurns;
pub(crate) use work_limiter::{InFlightWorkLimits, WorkLimiter, WorkPermit};
