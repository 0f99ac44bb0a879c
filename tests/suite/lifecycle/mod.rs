//! Tests of the lifecycle of a process: reloads, upgrades, signals, shutdown.

mod endless_files;
mod memory;
mod operations;
mod reload;
mod scarce_resources;
mod secrets;
mod shutdown;
mod upgrade;
