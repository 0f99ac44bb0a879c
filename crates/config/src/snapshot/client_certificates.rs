//! Reads the names in client certificates.

use headgate_core::catalog::caller::client_certificate::CallerCertificate;
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

/// The names in a certificate; none if it cannot be read.
pub fn read_client_certificate(der: &[u8]) -> CallerCertificate {
    let Ok((_, certificate)) = parse_x509_certificate(der) else {
        return CallerCertificate::new([]);
    };
    let alternatives = certificate.subject_alternative_name().ok().flatten();
    let alternatives = alternatives.map_or(&[][..], |found| &found.value.general_names);
    let names = alternatives.iter().filter_map(|name| match name {
        GeneralName::URI(uri) => Some(format!("uri:{uri}")),
        GeneralName::DNSName(name) => Some(format!("dns:{}", name.to_ascii_lowercase())),
        GeneralName::RFC822Name(address) => Some(format!("email:{address}")),
        _ => None,
    });
    let subject = certificate.subject().iter_common_name();
    let subject = subject.filter_map(|name| Some(format!("cn:{}", name.as_str().ok()?)));
    CallerCertificate::new(names.chain(subject))
}
