//! Tests of requests, responses and streams of Gemini's models.

mod requests;
mod responses;
