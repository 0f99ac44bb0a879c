//! Tests of the configuration, the command line, and the commands that pages show.

mod broken_files;
pub mod check;
mod check_affinity;
mod check_budgets;
mod check_caller_store;
mod check_channel_errors;
mod check_dialects;
mod check_model_patterns;
mod check_prices;
mod check_prompt_logs;
mod check_protocols;
mod check_random_input;
mod check_secrets;
mod check_syntax;
mod cli;
mod console_examples;
mod demo;
mod mistakes;
mod next_steps;
