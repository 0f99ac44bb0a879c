//! Tests of a gateway that the system gives too little: it says so at its start, and serves with the least that it asks for.

use crate::harness::connection::Connection;
use crate::harness::folder::Folder;
use crate::harness::process::{BINARY, Process};
use crate::harness::simulator::wait_for_listener;
use crate::harness::{Request, config};
use std::process::Command;

fn folder() -> Folder {
    let folder = Folder::new();
    let mut written = config::standard("https://provider.test/v1");
    written["server"]["workers"] = 2.into();
    folder.write("routes.yaml", format!("{written:#}"));
    folder
}

/// A shell that sets a limit before it becomes the program.
fn limited(limit: &str) -> String {
    format!(r#"ulimit {limit}; exec "$@""#)
}

#[test]
fn too_few_descriptors_or_addresses_end_the_start_with_what_to_raise() {
    let folder = folder();
    let config = folder.path().join("routes.yaml");
    for (limit, words) in [
        (
            "-n 24",
            "may open 24 files, and needs at least 128 with 2 workers\n  raise `ulimit -n`",
        ),
        ("-n 64", "may open 64 files"),
        ("-n 127", "may open 127 files"),
        (
            "-v 1000000",
            "may use 976 MiB of addresses, and needs at least 4096 MiB",
        ),
    ] {
        let output = Command::new("timeout")
            .args([
                "20",
                "sh",
                "-c",
                &limited(limit),
                "sh",
                BINARY,
                "run",
                "--config",
            ])
            .arg(&config)
            .args(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{limit}: {printed}");
        assert!(printed.contains(words), "{limit}: {printed}");
        assert!(!printed.contains("panicked"), "{limit}: {printed}");
    }
}

#[tokio::test]
async fn the_least_that_is_asked_for_is_enough_to_serve() {
    let folder = folder();
    let config = folder.path().join("routes.yaml");
    for limit in ["-n 128", "-v 4194304"] {
        let mut process = Process::spawn_under(
            "sh",
            &["-c", &limited(limit), "sh"],
            &[
                "run",
                "--config",
                config.to_str().unwrap(),
                "--listen",
                "127.0.0.1:0",
                "--admin",
                "127.0.0.1:0",
            ],
        );
        let line = process.wait_for_line("headgate is listening").await;
        let gateway = line["listen"].as_str().unwrap().parse().unwrap();
        wait_for_listener(gateway).await;
        let mut connections = Vec::new();
        for _ in 0..16 {
            let mut connection = Connection::to(gateway).await;
            let response = connection.ask(&Request::get("/v1/models")).await;
            assert_eq!(response.status, 200, "{limit}: {}", response.text());
            connections.push(connection);
        }
        assert!(process.ended().is_none());
    }
}
