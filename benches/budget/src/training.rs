//! The load of `make profile`: what a compiler with a profile takes for the code that requests use.
//!
//! A provider behind HTTP/1.1 without TLS, and a second gateway as provider, so that TLS and HTTP/2 of both sides run, too.

use super::figures::{base, with_budget, with_translation};
use super::load::Load;
use super::programs::{Program, Programs, Running};
use super::provider::Provider;
use headgate_budget::setup::{Endpoints, TlsFiles, free_addresses, routes};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// How many connections send the load of a program, one after the other.
const CONNECTIONS: usize = 20;

/// Sends the load of all figures to the `headgate` in the folder `programs`. `certificates` has `certificate.pem` of the name
/// `localhost`, and its `key.pem`.
pub fn train(programs: &Path, certificates: &Path) {
    let provider = Provider::start();
    let setup = Programs::new(programs, &provider, None);
    for (program, figures) in [
        (Program::Headgate, with_budget()),
        (Program::VideoHeadgate, with_budget()),
        (Program::TracingHeadgate, with_budget()),
        (Program::TranslatingHeadgate, with_translation()),
    ] {
        let (address, mut command) = setup.command(program, Command::new("env"));
        let mut running = Running::start(command.stdout(Stdio::null()));
        let load = base(&figures, program);
        for _ in 0..CONNECTIONS {
            load.send(running.connect(address), &provider);
        }
        running.end();
        println!("{program:?}: trained");
    }
    for version in ["http1", "http2"] {
        train_tls(programs, certificates, version, &provider);
        println!("TLS, {version}: trained");
    }
}

/// Sends chats through one gateway to another one, by TLS and this version of HTTP.
fn train_tls(programs: &Path, certificates: &Path, version: &str, provider: &Provider) {
    let certificate = certificates.join("certificate.pem");
    let [front, front_admin, back, back_admin] = free_addresses();
    let behind = routes(&Endpoints {
        listen: back,
        admin: back_admin,
        provider: provider.address,
        tls: Some(TlsFiles {
            certificate: certificate.clone(),
            key: certificates.join("key.pem"),
        }),
        provider_http2: false,
    });
    let port = back.port();
    let before = routes(&Endpoints {
        listen: front,
        admin: front_admin,
        provider: back,
        tls: None,
        provider_http2: false,
    })
    .replace(
        "http: auto",
        &format!("http: {version}\n    tls: {{ca: {certificate:?}}}"),
    )
    .replace(
        &format!("http://{back}/v1"),
        &format!("https://localhost:{port}/v1"),
    )
    // The key and the model that the gateway behind knows.
    .replace("sk-provider-credential", "sk-demo")
    .replace("provider-model-2026-08", "bench-model");
    let mut gateways = [("behind", behind), ("before", before)].map(|(name, text)| {
        let config = certificates.join(format!("{name}.yaml"));
        fs::write(&config, text).expect("a file can be written");
        let mut command = Command::new(programs.join("headgate"));
        command.arg("run").arg("--config").arg(config);
        Running::start(command.stdout(Stdio::null()))
    });
    drop(gateways[0].connect(back));
    let mut figures = with_budget();
    figures.truncate(3);
    let load: Load = base(&figures, Program::Headgate);
    for _ in 0..CONNECTIONS {
        load.send(gateways[1].connect(front), provider);
    }
    gateways.iter_mut().rev().for_each(Running::end);
}
