//! Certificates of Kueue's webhooks.
//!
//! Kueue's certificate rotator keeps a pair only if the authority is valid for the name `kueue-ca`, the server certificate is
//! for the webhook Service, more than 90 days are left, and the keys are RSA keys in PKCS#1. Kubernetes reaches the webhooks
//! at 127.0.0.1, so the certificate names that address, too. The keys are those that kwokctl made for this cluster: `ring`
//! cannot make RSA keys, and a throw-away cluster needs no separate ones.

use std::{fs, net::IpAddr, path::Path};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_RSA_SHA256, string::Ia5String,
};
use rustls_pki_types::{PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, pem::PemObject};

use super::ClusterError;

/// Kueue's webhook Service, whose name its certificate must carry.
const SERVICE: &str = "kueue-webhook-service.kueue-system.svc";

/// Name the rotator checks the authority's certificate for.
const AUTHORITY: &str = "kueue-ca";

/// PEM texts of an authority and a server certificate with their keys.
pub(super) struct Certificates {
    pub ca_cert: String,
    pub ca_key: String,
    pub cert: String,
    pub key: String,
}

/// Makes certificates with the keys that kwokctl left in `pki`.
pub(super) fn make(pki: &Path) -> Result<Certificates, ClusterError> {
    let (ca_key_pem, ca_key) = read_key(&pki.join("ca.key"))?;
    let (key_pem, key) = read_key(&pki.join("admin.key"))?;
    let failed = |e: rcgen::Error| ClusterError::Unexpected {
        what: "certificates for Kueue's webhooks".into(),
        detail: e.to_string(),
    };

    let mut ca = params(AUTHORITY, vec![]).map_err(failed)?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    let ca_cert = ca.self_signed(&ca_key).map_err(failed)?.pem();

    let mut server = params(SERVICE, vec![[127, 0, 0, 1].into()]).map_err(failed)?;
    server.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let issuer = Issuer::new(ca, ca_key);
    let cert = server.signed_by(&key, &issuer).map_err(failed)?.pem();

    Ok(Certificates {
        ca_cert,
        ca_key: ca_key_pem,
        cert,
        key: key_pem,
    })
}

fn params(name: &str, addresses: Vec<IpAddr>) -> Result<CertificateParams, rcgen::Error> {
    // rcgen's default validity, 1975 to 4096, outlives every check.
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.subject_alt_names = vec![rcgen::SanType::DnsName(Ia5String::try_from(name)?)];
    params
        .subject_alt_names
        .extend(addresses.into_iter().map(rcgen::SanType::IpAddress));
    Ok(params)
}

/// A key file as it stands, and the key in it.
fn read_key(path: &Path) -> Result<(String, KeyPair), ClusterError> {
    let pem = fs::read_to_string(path).map_err(ClusterError::file("read", path))?;
    let unexpected = |detail: String| ClusterError::Unexpected {
        what: path.display().to_string(),
        detail,
    };
    let key = PrivatePkcs1KeyDer::from_pem_slice(pem.as_bytes())
        .map_err(|e| unexpected(format!("not an RSA key in PKCS#1: {e}")))?;
    let wrapped = PrivatePkcs8KeyDer::from(pkcs8(key.secret_pkcs1_der()));
    let key = KeyPair::from_pkcs8_der_and_sign_algo(&wrapped, &PKCS_RSA_SHA256)
        .map_err(|e| unexpected(e.to_string()))?;
    Ok((pem, key))
}

/// Wraps an RSA key in PKCS#8, the only form that rcgen reads: version 0, the algorithm's name, the key (RFC 5208).
fn pkcs8(pkcs1: &[u8]) -> Vec<u8> {
    /// DER of `INTEGER 0, SEQUENCE { rsaEncryption, NULL }`.
    const HEAD: [u8; 18] = [
        0x02, 0x01, 0x00, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01,
        0x01, 0x05, 0x00,
    ];
    let key = der(0x04, pkcs1);
    der(0x30, &[&HEAD, key.as_slice()].concat())
}

/// A DER element: tag, length, content.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let digits = &length[length.iter().take_while(|&&b| b == 0).count()..];
    let mut element = vec![tag];
    if let [length @ 0..=0x7f] = digits {
        element.push(*length);
    } else {
        // At most 8 digits, because that is what a usize has.
        element.push(0x80 | u8::try_from(digits.len()).unwrap_or(8));
        element.extend(digits);
    }
    element.extend(content);
    element
}
