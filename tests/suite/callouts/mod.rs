//! Tests of services that filters call with requests and responses.

mod configuration;
mod explained;
mod failures;
mod limits;
mod requests;
mod responses;
mod split_words;
mod streams;
