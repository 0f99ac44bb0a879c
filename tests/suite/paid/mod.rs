//! Tests of paid creates: none is lost, and none is made twice.

mod duplicates;
mod freed_keys;
mod killed_gateways;
mod leaving;
mod recorded_streams;
mod unsettled_creates;
