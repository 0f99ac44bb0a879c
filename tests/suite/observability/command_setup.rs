//! A gateway on which commands of operators are run.

use super::status::run;
use crate::harness::config::{admin_keys, standard};
use crate::harness::{Gateway, Simulator};

/// A gateway with keys for its admin pages, and commands that use them.
pub struct CommandSetup {
    pub gateway: Gateway,
    _simulator: Simulator,
}

impl CommandSetup {
    pub async fn start() -> Self {
        let simulator = Simulator::start().await;
        let mut config = standard(&simulator.url());
        config["server"]["admin_keys"] = admin_keys();
        Self {
            gateway: Gateway::start(&config).await,
            _simulator: simulator,
        }
    }

    /// Exit code, standard output and standard error of a command with this admin key.
    pub fn run(&self, args: &[&str], key: &str) -> (i32, String, String) {
        let url = format!("http://{}", self.gateway.admin);
        let args = [args, &["--admin", &url]].concat();
        run(&args, &[("HEADGATE_ADMIN_KEY", key)])
    }
}
