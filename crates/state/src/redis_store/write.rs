//! A write to Redis that waits in the queue, and its command.

use super::keys::RedisKeys;
use super::run_call_write::{RUN_KEYS, RunCallWrite};
use super::scripts::{LuaScripts, NOTE};
use bytes::Bytes;
use headgate_core::state::admission::{AdmissionTicket, LimitKind};
use headgate_core::state::affinity::IdChannelEntry;
use headgate_core::state::health::StoreOperation;
use headgate_core::state::money::MoneyReservation;
use headgate_core::state::note_cache::NOTE_KEPT;
use headgate_core::state::run::RunKey;
use redis::Cmd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long after it may have been executed a settlement is sent again: Redis still has the note by then.
const REPEAT_MAX: Duration = NOTE.saturating_sub(Duration::from_secs(10));

/// A write to Redis.
#[derive(Debug)]
pub enum RedisWrite {
    Remember {
        caller: Arc<str>,
        id: Box<str>,
        channel: Arc<str>,
    },
    /// `caller` used `id`: refreshes its claim, which an id that an earlier version stored does not have yet.
    Touch {
        caller: Arc<str>,
        id: Box<str>,
        channel: Arc<str>,
    },
    Forget {
        caller: Arc<str>,
        id: Box<str>,
    },
    Settle {
        keys: Vec<String>,
        lease: String,
        ticket: AdmissionTicket,
        tokens_used: u64,
        /// When Redis may have executed it for the first time: it was sent, and got no response.
        maybe_executed: Option<Instant>,
    },
    /// Takes back an admission that may have been granted: it got no response.
    Cancel {
        /// Those of the limits, that of the admission's note if it has one, and that of its reservation if it has one.
        keys: Vec<String>,
        lease: String,
        limits: Vec<LimitKind>,
        tokens: u64,
    },
    /// Ends a call of a run. It may be sent any number of times, but for a call that was refused, whose lease is empty.
    EndRunCall {
        keys: [String; RUN_KEYS],
        lease: String,
        run: RunKey,
        end: RunCallWrite,
        /// Whether Redis may have executed it: it was sent, and got no response.
        may_be_executed: bool,
    },
    /// Corrects what was reserved of budgets in money, unless it is settled: it may be sent any number of times.
    SettleMoney {
        /// Those of the limits and the run, and that of the reservation.
        keys: Vec<String>,
        reserved: MoneyReservation,
        cost: u64,
    },
    PutNote {
        key: Box<str>,
        text: Bytes,
    },
}

impl RedisWrite {
    pub fn operation(&self) -> StoreOperation {
        match self {
            Self::Remember { .. } => StoreOperation::Remember,
            Self::Touch { .. } => StoreOperation::ChannelOf,
            Self::Forget { .. } => StoreOperation::Forget,
            Self::Settle { .. }
            | Self::Cancel { .. }
            | Self::EndRunCall { .. }
            | Self::SettleMoney { .. } => StoreOperation::Settle,
            Self::PutNote { .. } => StoreOperation::PutNote,
        }
    }

    /// The caller, the id, and what becomes known of it, if this write changes the owner of an id.
    pub fn owner(&self) -> Option<(&Arc<str>, &str, IdChannelEntry)> {
        match self {
            Self::Remember {
                caller,
                id,
                channel,
            } => Some((caller, id, IdChannelEntry::Claimed(channel.clone()))),
            Self::Forget { caller, id } => Some((caller, id, IdChannelEntry::Forgotten)),
            Self::Touch { .. }
            | Self::Settle { .. }
            | Self::Cancel { .. }
            | Self::EndRunCall { .. }
            | Self::SettleMoney { .. }
            | Self::PutNote { .. } => None,
        }
    }

    /// Whether Redis would notice that it has executed this write before. Others than settlements may be repeated anyway.
    pub fn may_be_sent(&self, now: Instant) -> bool {
        match self {
            Self::Settle {
                maybe_executed: Some(at),
                ..
            } => now.saturating_duration_since(*at) < REPEAT_MAX,
            Self::EndRunCall {
                lease,
                may_be_executed,
                ..
            } => !lease.is_empty() || !may_be_executed,
            _ => true,
        }
    }

    /// This write after it was sent and got no response.
    pub fn noted_as_sent(mut self, at: Instant) -> Self {
        match &mut self {
            Self::Settle { maybe_executed, .. } => {
                maybe_executed.get_or_insert(at);
            }
            Self::EndRunCall {
                may_be_executed, ..
            } => *may_be_executed = true,
            _ => {}
        }
        self
    }

    pub fn command(&self, scripts: &LuaScripts, keys: &RedisKeys, id_ttl: Duration) -> Cmd {
        match self {
            Self::Remember {
                caller,
                id,
                channel,
            } => {
                let mut command = redis::cmd("SET");
                command.arg(keys.affinity(caller, id)).arg(&**channel);
                command.arg("PX").arg(id_ttl.as_millis() as u64);
                command
            }
            Self::Touch {
                caller,
                id,
                channel,
            } => scripts.claim(&keys.owner(id, channel), caller, id_ttl),
            Self::Forget { caller, id } => {
                let mut command = redis::cmd("DEL");
                command.arg(keys.affinity(caller, id));
                command
            }
            Self::Settle {
                keys,
                lease,
                ticket,
                tokens_used,
                ..
            } => scripts.settle(keys, lease, ticket, *tokens_used),
            Self::Cancel {
                keys,
                lease,
                limits,
                tokens,
            } => scripts.cancel(keys, lease, limits, *tokens),
            Self::EndRunCall {
                keys,
                lease,
                run,
                end,
                ..
            } => scripts.end_run_call(keys, lease, run, end),
            Self::SettleMoney {
                keys,
                reserved,
                cost,
            } => scripts.settle_money(keys, reserved, *cost),
            Self::PutNote { key, text } => {
                let mut command = redis::cmd("SET");
                command.arg(keys.note(key)).arg(&text[..]);
                command.arg("PX").arg(NOTE_KEPT.as_millis() as u64);
                command
            }
        }
    }
}
