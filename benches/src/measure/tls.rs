//! The certificate of the measured programs, and clients that trust it.

use headgate_budget::setup::TlsFiles;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

const HOST: &str = "localhost";

/// One certificate for all programs of this run.
static IDENTITY: LazyLock<Identity> = LazyLock::new(|| {
    let made = rcgen::generate_simple_self_signed([HOST.to_owned()]).expect("a certificate");
    Identity {
        certificate: made.cert.der().clone(),
        certificate_pem: made.cert.pem(),
        key_pem: made.signing_key.serialize_pem(),
    }
});

struct Identity {
    certificate: CertificateDer<'static>,
    certificate_pem: String,
    key_pem: String,
}

/// Writes the certificate and its key into `folder`.
pub fn files(folder: &Path) -> TlsFiles {
    let files = TlsFiles {
        certificate: folder.join("certificate.pem"),
        key: folder.join("key.pem"),
    };
    fs::write(&files.certificate, &IDENTITY.certificate_pem).expect("a file can be written");
    fs::write(&files.key, &IDENTITY.key_pem).expect("a file can be written");
    files
}

/// A TLS connection on which HTTP/2 was negotiated.
pub async fn connect(address: SocketAddr) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    let added = roots.add(IDENTITY.certificate.clone());
    added.expect("a self-signed certificate is a root");
    let mut config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let stream = TcpStream::connect(address)
        .await
        .expect("the target listens");
    stream.set_nodelay(true).expect("a socket option");
    let name = ServerName::try_from(HOST).expect("a host name");
    let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream);
    let stream = connecting.await.expect("the certificate is trusted");
    let (_, session) = stream.get_ref();
    assert_eq!(session.alpn_protocol(), Some(&b"h2"[..]));
    stream
}
