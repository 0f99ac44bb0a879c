//! Tests of the configuration and the command line.

mod check;
mod check_random_input;
mod check_secrets;
mod check_syntax;
mod cli;
mod demo;
