//! A real OpenTelemetry collector for tests, from the Python package index: see `tests/collector`. It exports again to a
//! receiver of the tests.

use super::folder::Folder;
use super::free_port::free_port;
use super::otlp::TraceCollector;
use super::{PATIENCE, eventually_within};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// It ends with the test.
pub struct CollectorProcess {
    process: Child,
    pub address: SocketAddr,
    _folder: Folder,
}

impl CollectorProcess {
    /// Starts a collector that exports to `receiver`.
    pub async fn start(receiver: &TraceCollector) -> Self {
        let installer = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/collector/install.sh");
        let installed = Command::new(installer)
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(installed.status.success(), "the collector is not installed");
        let program = String::from_utf8(installed.stdout).unwrap();
        let folder = Folder::new();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let grpc = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let process = Command::new(program.trim())
            .arg("start")
            .arg(format!("--otlp-http-endpoint={address}"))
            .arg(format!("--otlp-grpc-endpoint={grpc}"))
            .arg("--exporter=otlp")
            .arg(format!("--otlp-exporter-endpoint={}", receiver.url()))
            .args(["--otlp-exporter-protocol=http"])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut collector = Self {
            process,
            address,
            _folder: folder,
        };
        eventually_within(PATIENCE, "a collector that listens", async || {
            let ended = collector.process.try_wait().unwrap();
            assert!(ended.is_none(), "the collector has ended: {ended:?}");
            TcpStream::connect(address).ok().map(drop)
        })
        .await;
        collector
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for CollectorProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
