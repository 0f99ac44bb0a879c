//! The protocol of a channel, as a type of its own.

use super::{Protocol, ProtocolDescriptor};
use crate::response_verdict::SuccessShape;
use crate::usage::UsageShape;

/// The protocol in which a channel gets requests and responds.
///
/// It is another type than the caller's [`Protocol`], so that the compiler finds where one is taken for the other: what reads
/// a provider's response takes this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChannelProtocol(Protocol);

impl ChannelProtocol {
    /// That of the channels which serve a caller: the caller's own, unless a filter converts its requests.
    pub fn for_caller(caller: Protocol) -> Self {
        Self(caller.on_channels())
    }

    /// That of channels which serve a caller of another protocol by translation.
    pub fn by_translation(channel: Protocol) -> Self {
        Self(channel)
    }

    /// What a success has.
    pub fn success(self) -> &'static SuccessShape {
        &self.descriptor().success
    }

    /// How usage is reported.
    pub fn usage(self) -> &'static UsageShape {
        &self.descriptor().usage
    }

    /// Whether requests create what is paid for one by one: videos and images.
    pub fn creates_paid_work(self) -> bool {
        self.0.creates_paid_work()
    }

    /// What the gateway knows of this protocol.
    pub fn descriptor(self) -> &'static ProtocolDescriptor {
        self.0.descriptor()
    }
}
