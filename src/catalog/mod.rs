//! Who may call and what may be called, as built: callers, models and channels. Immutable, no I/O.

pub mod caller;
pub mod channel;
pub mod client_address;
pub mod egress;
pub mod images;
pub mod limits;
pub mod model;
pub mod network;
