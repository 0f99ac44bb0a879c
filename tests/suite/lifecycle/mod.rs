//! The life of a process: reloads, upgrades, signals, its end.

mod operations;
mod reload;
mod secrets;
mod shutdown;
mod upgrade;
