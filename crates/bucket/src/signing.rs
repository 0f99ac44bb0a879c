//! SHA-256 and HMAC for the signatures of requests to a bucket, from the libraries that the gateway uses anyway.

use hmac::{Hmac, Mac};
use object_store::client::{
    CryptoProvider, DigestAlgorithm, DigestContext, HmacContext, Signer, SigningAlgorithm,
};
use sha2::{Digest, Sha256};

/// The cryptography of `object_store`.
#[derive(Debug)]
pub(super) struct BucketCryptoProvider;

impl CryptoProvider for BucketCryptoProvider {
    fn digest(&self, algorithm: DigestAlgorithm) -> object_store::Result<Box<dyn DigestContext>> {
        match algorithm {
            DigestAlgorithm::Sha256 => Ok(Box::new(Sha256Context::default())),
            other => Err(unsupported(&format!("{other:?}"))),
        }
    }

    fn hmac(
        &self,
        algorithm: DigestAlgorithm,
        secret: &[u8],
    ) -> object_store::Result<Box<dyn HmacContext>> {
        match algorithm {
            DigestAlgorithm::Sha256 => Ok(Box::new(HmacSha256Context {
                mac: Hmac::new_from_slice(secret)
                    .map_err(|error| unsupported(&error.to_string()))?,
                result: [0; 32],
            })),
            other => Err(unsupported(&format!("{other:?}"))),
        }
    }

    fn sign(&self, algorithm: SigningAlgorithm, _: &[u8]) -> object_store::Result<Box<dyn Signer>> {
        Err(unsupported(&format!("{algorithm:?}")))
    }
}

#[derive(Default)]
struct Sha256Context {
    hasher: Sha256,
    result: [u8; 32],
}

impl DigestContext for Sha256Context {
    fn update(&mut self, data: &[u8]) {
        self.hasher.update(data);
    }

    fn finish(&mut self) -> object_store::Result<&[u8]> {
        self.result = self.hasher.finalize_reset().into();
        Ok(&self.result)
    }
}

struct HmacSha256Context {
    mac: Hmac<Sha256>,
    result: [u8; 32],
}

impl HmacContext for HmacSha256Context {
    fn update(&mut self, data: &[u8]) {
        self.mac.update(data);
    }

    fn finish(&mut self) -> object_store::Result<&[u8]> {
        self.result = self.mac.clone().finalize().into_bytes().into();
        Ok(&self.result)
    }
}

fn unsupported(what: &str) -> object_store::Error {
    object_store::Error::NotSupported {
        source: format!("{what} is not available").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_and_signatures_are_those_of_the_standards() {
        let hex =
            |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
        let mut digest = BucketCryptoProvider
            .digest(DigestAlgorithm::Sha256)
            .unwrap();
        digest.update(b"a");
        digest.update(b"bc");
        assert_eq!(
            hex(digest.finish().unwrap()),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        // RFC 4231, test case 2.
        let mut mac = BucketCryptoProvider
            .hmac(DigestAlgorithm::Sha256, b"Jefe")
            .unwrap();
        mac.update(b"what do ya want for nothing?");
        assert_eq!(
            hex(mac.finish().unwrap()),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }
}
