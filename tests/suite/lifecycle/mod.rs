//! Tests of the lifecycle of a process: reloads, upgrades, signals, shutdown.

mod memory;
mod operations;
mod reload;
mod secrets;
mod shutdown;
mod upgrade;
