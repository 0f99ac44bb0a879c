//! Tests of paid creates: none is lost, and none is made twice.

mod denied_creates;
mod duplicates;
mod freed_keys;
mod hostile_callers;
mod killed_gateways;
mod large_responses;
mod leaving;
mod recorded_streams;
mod store_failures;
mod unsettled_creates;
mod waiting_duplicates;
