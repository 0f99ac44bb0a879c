//! The settings of the running process that no reload can change, compared with those of a configuration.

use crate::snapshot::Snapshot;
use crate::snapshot::server::ServerSettings;
use crate::snapshot::spooling::BodySpoolPolicy;
use headgate_core::state::settings::StoreSettings;
use std::sync::OnceLock;

/// The addresses of the process's listeners.
#[derive(Clone, Debug)]
pub struct ListenerAddresses {
    pub listen: String,
    pub admin: String,
    /// Whether the command line sets the address, so that `server.listen` is ignored.
    pub is_listen_overridden: bool,
    /// Whether the command line sets the address, so that `server.admin` is ignored.
    pub is_admin_overridden: bool,
}

/// The settings with which the process was started.
#[derive(Debug)]
pub struct StartupSettings {
    pub server: ServerSettings,
    pub spooling: BodySpoolPolicy,
    pub state: StoreSettings,
    /// Set when the process listens.
    pub listeners: OnceLock<ListenerAddresses>,
}

/// The listener settings, for display.
#[derive(Clone, Debug)]
pub struct ListenerSummary {
    pub listen: String,
    pub admin: String,
    pub admin_tls: bool,
    pub tls: bool,
    pub workers: usize,
    pub connections_max: u32,
}

impl ListenerSummary {
    /// The listener settings of a snapshot.
    pub fn wanted_by(snapshot: &Snapshot) -> Self {
        Self::from_settings(&snapshot.server)
    }

    fn from_settings(server: &ServerSettings) -> Self {
        Self {
            listen: server.listen.clone(),
            admin: server.admin.clone(),
            admin_tls: server.admin_tls.is_some(),
            tls: server.tls.is_some(),
            workers: server.worker_threads(),
            connections_max: server.limits.connections,
        }
    }
}

impl StartupSettings {
    /// The settings of the process, with the addresses that it listens on.
    pub fn settings(&self) -> ListenerSummary {
        let mut settings = ListenerSummary::from_settings(&self.server);
        if let Some(ListenerAddresses { listen, admin, .. }) = self.listeners.get() {
            settings.listen.clone_from(listen);
            settings.admin.clone_from(admin);
        }
        settings
    }

    /// The keys of `snapshot` that differ from the running process and need a restart, such as `server.listen`.
    pub fn needing_restart(&self, snapshot: &Snapshot) -> Vec<&'static str> {
        let ServerSettings {
            listen,
            admin,
            admin_tls,
            tls,
            workers,
            access_log,
            limits,
            dns,
            client_addresses,
        } = &self.server;
        let wanted = &snapshot.server;
        let overridden = |is_overridden: fn(&ListenerAddresses) -> bool| {
            self.listeners.get().is_some_and(is_overridden)
        };
        let differing = [
            (
                "server.listen",
                *listen != wanted.listen && !overridden(|listeners| listeners.is_listen_overridden),
            ),
            (
                "server.admin",
                *admin != wanted.admin && !overridden(|listeners| listeners.is_admin_overridden),
            ),
            ("server.admin_tls", *admin_tls != wanted.admin_tls),
            ("server.tls", *tls != wanted.tls),
            ("server.workers", *workers != wanted.workers),
            ("server.access_log", *access_log != wanted.access_log),
            ("server.limits", !limits.is_same_listener(&wanted.limits)),
            ("server.spool", self.spooling != snapshot.spooling),
            ("server.dns", *dns != wanted.dns),
            (
                "server.client_address",
                *client_addresses != wanted.client_addresses,
            ),
            ("state", self.state != snapshot.state),
        ];
        let differing = differing.into_iter().filter(|(_, differs)| *differs);
        differing.map(|(setting, _)| setting).collect()
    }
}
