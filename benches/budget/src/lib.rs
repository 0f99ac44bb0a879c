//! What measuring programs share: the request that is sent, and the gateway that it is sent to.

pub mod request;
pub mod setup;
