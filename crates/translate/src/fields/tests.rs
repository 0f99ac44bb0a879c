//! Tests of the tables of fields.

mod audit;
mod coverage;
mod pages;
mod schemas;
mod truth;
