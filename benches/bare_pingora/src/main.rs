//! Bare Pingora: a proxy with one upstream and no filters, the baseline for measurements of the gateway.
//!
//! `bare-pingora LISTEN_ADDRESS UPSTREAM_ADDRESS [--upstream-http2] [--tls CERTIFICATE KEY]`

use async_trait::async_trait;
use pingora_core::Result;
use pingora_core::listeners::tls::TlsSettings;
use pingora_core::server::Server;
use pingora_core::server::configuration::ServerConf;
use pingora_core::upstreams::peer::{ALPN, HttpPeer};
use pingora_proxy::{ProxyHttp, Session, http_proxy_service};
use std::net::SocketAddr;

struct Bare {
    upstream: SocketAddr,
    is_http2: bool,
}

#[async_trait]
impl ProxyHttp for Bare {
    type CTX = ();

    fn new_ctx(&self) {}

    async fn upstream_peer(&self, _: &mut Session, (): &mut ()) -> Result<Box<HttpPeer>> {
        let mut peer = HttpPeer::new(self.upstream, false, String::new());
        if self.is_http2 {
            peer.options.alpn = ALPN::H2;
        }
        Ok(Box::new(peer))
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let listen = arguments.next().expect("the first argument is an address");
    let upstream = arguments
        .next()
        .and_then(|address| address.parse().ok())
        .expect("the second argument is an address");
    let mut is_http2 = false;
    let mut tls = None;
    while let Some(option) = arguments.next() {
        match &*option {
            "--upstream-http2" => is_http2 = true,
            "--tls" => tls = arguments.next().zip(arguments.next()),
            other => panic!("unknown option {other}"),
        }
    }
    let conf = ServerConf {
        threads: 1,
        grace_period_seconds: Some(0),
        graceful_shutdown_timeout_seconds: Some(0),
        ..ServerConf::default()
    };
    let mut server = Server::new_with_opt_and_conf(None, conf);
    server.bootstrap();
    let bare = Bare { upstream, is_http2 };
    let mut service = http_proxy_service(&server.configuration, bare);
    match tls {
        None => service.add_tcp(&listen),
        Some((certificate, key)) => {
            let mut settings =
                TlsSettings::intermediate(&certificate, &key).expect("a certificate and its key");
            settings.enable_h2();
            service.add_tls_with_settings(&listen, None, settings);
        }
    }
    server.add_service(service);
    server.run_forever();
}
