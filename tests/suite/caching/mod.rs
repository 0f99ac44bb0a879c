//! Tests of recorded responses and of copied requests: nobody gets what belongs to another, and no request waits for them.

mod bounds;
mod check;
mod flights;
mod hits;
mod keys;
mod mirrors;
mod never;
mod stores;
mod streams;
