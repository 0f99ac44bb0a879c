//! Tests of limits: callers' limits, connections, deadlines, memory, and the state that counts them.

mod attempt_costs;
mod budget_rules;
mod budgets;
mod callers;
mod channel_budgets;
mod client_disconnects;
mod crowds;
mod deadlines;
mod groups;
mod long_input;
mod request_heads;
mod run_names;
mod runs;
mod settlement;
mod shared_budgets;
mod shared_limits;
mod slow_readers;
mod spooling;
mod state;
mod stream_cuts;
mod task_budgets;
mod unreported_costs;
