//! The catalog as built: callers, models and channels. Immutable, without I/O.

pub mod base_url;
pub mod caller;
pub mod channel;
pub mod client_address;
pub mod credential;
pub mod egress;
pub mod endpoint;
pub mod images;
pub mod jwt_minter;
pub mod limits;
pub mod model;
pub mod network;
pub mod price;
pub mod public_url;
pub mod task_cost;
mod verified_keys;
pub mod webhook_secret;
