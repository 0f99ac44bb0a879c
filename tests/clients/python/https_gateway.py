"""Runs a gateway with TLS and HTTP/2 until SIGTERM: `https_gateway.py PROGRAM FOLDER SIMULATOR_URL`.

It serves a chat, the APIs of clouds, sessions, and the own APIs of vendors of videos. Writes its address to FOLDER/url, and the
CA certificate to FOLDER/authority.pem.
"""

import datetime
import ipaddress
import sys
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import realtime_route
from cloud_routes import with_clouds
from gateway_process import serve
from vendor_apis import with_vendors

ROUTES = {
    "server": {
        "listen": "127.0.0.1:0",
        "admin": "127.0.0.1:0",
        "tls": {"certificate": "server.pem", "key": "server.key"},
    },
    "callers": [
        {
            "name": "demo",
            "key_sha256": "f77894fdfa58e447c57e077eaa9708e8e009c84dc6aba2db80461275e9b85be7",
            "models": ["*"],
        },
        {
            "name": "other",
            "key_sha256": "3dcad332ca200026cb05197382714c13fbe0737dee3d327981a235067882d2d3",
            "models": ["*"],
        },
    ],
    "channels": {
        "primary": {
            "base_url": "http://127.0.0.1:9/v1",
            "credential": {"bearer": "sk-nobody-is-asked"},
            "protocols": ["chat"],
            "models": {"demo-chat": "provider-large"},
        }
    },
    "routes": [
        {
            "name": "chat",
            "match": "POST /v1/chat/completions",
            "protocol": "chat",
            "request": ["authenticate", "route_model"],
        }
    ],
}


def write_certificates(folder):
    authority_key, authority = certificate("headgate client suite", None)
    key, server = certificate("127.0.0.1", (authority_key, authority))
    pem = serialization.Encoding.PEM
    (folder / "authority.pem").write_bytes(authority.public_bytes(pem))
    (folder / "server.pem").write_bytes(server.public_bytes(pem))
    private = serialization.PrivateFormat.PKCS8
    (folder / "server.key").write_bytes(key.private_bytes(pem, private, serialization.NoEncryption()))


def certificate(name, issuer):
    """A key and its certificate, signed by `issuer`, or self-signed as a CA if it is None."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer_key, issuer_name = (key, subject) if issuer is None else (issuer[0], issuer[1].subject)
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer_name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False
        )
    )
    if issuer is None:
        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False,
            key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
            decipher_only=False,
        )  # fmt: skip
        builder = builder.add_extension(usage, critical=True)
    else:
        address = x509.IPAddress(ipaddress.ip_address(name))
        builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
    return key, builder.sign(issuer_key, hashes.SHA256())


if __name__ == "__main__":
    folder, simulator = Path(sys.argv[2]), sys.argv[3].rstrip("/")
    write_certificates(folder)
    ROUTES["channels"]["realtime"] = realtime_route.channel(simulator)
    ROUTES["routes"].append(realtime_route.ROUTE)
    serve(sys.argv[1], folder, with_vendors(with_clouds(ROUTES, simulator), simulator), "https")
