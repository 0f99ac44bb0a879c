//! Tests of services that filters ask about requests and responses.

mod configuration;
mod failures;
mod limits;
mod requests;
mod responses;
mod split_words;
mod streams;
