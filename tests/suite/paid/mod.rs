//! Tests of paid creates: none is lost, and none is made twice.

mod duplicates;
mod freed_keys;
mod leaving;
mod recorded_streams;
