//! A request that is sent once more, since its credential or the time of its signature was too old.

/// Whether an exchange does that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CredentialRenewal {
    #[default]
    Unneeded,
    /// The last attempt was refused, and the next one may be sent to the same channel.
    Due,
    /// It is not done a second time.
    Done,
}

impl CredentialRenewal {
    /// Whether the channel that was tried last may be tried once more.
    pub fn allows_same_channel(&mut self) -> bool {
        let is_due = *self == Self::Due;
        if is_due {
            *self = Self::Done;
        }
        is_due
    }
}
