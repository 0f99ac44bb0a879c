//! Tests of recorded responses and of copied requests: nobody gets what belongs to another, and no request waits for them.

mod bounds;
mod check;
mod coalescing;
mod hits;
mod keys;
mod mirrors;
mod never;
mod response_inputs;
mod stores;
mod streams;
