//! Tests of services that filters call with requests and responses.

mod configuration;
mod edited_requests;
mod explained;
mod failures;
mod held_ends;
mod limits;
mod litellm;
mod litellm_failures;
mod requests;
mod responses;
mod split_words;
mod streams;
