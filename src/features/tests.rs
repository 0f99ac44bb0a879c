//! Tests of what is built from whole configurations with all features.

mod families;
mod findings;
mod openapi;
mod routes;
