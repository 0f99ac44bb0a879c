//! Access keys of profiles in the file of credentials that the AWS CLI and AWS's SDKs share.

use super::super::VariableLookup;
use super::super::credentials::invalid_credential::InvalidCredential;
use headgate_core::catalog::aws_signer::AwsAccessKey;
use headgate_core::regular_file;
use std::path::PathBuf;

/// Largest file, in bytes.
const BYTES_MAX: u64 = 1 << 20;
const KEY: &str = "/aws/profile";
const HINT: &str = "write the name of a profile with `aws_access_key_id` and `aws_secret_access_key`; for a role, add `assume_role` here";

/// The file: that of the variable `AWS_SHARED_CREDENTIALS_FILE`, or `.aws/credentials` in the home folder.
pub(in crate::snapshot) fn file(variables: &VariableLookup) -> Option<PathBuf> {
    let value = |name: &str| variables(name).filter(|value| !value.is_empty());
    let home = || Some(PathBuf::from(value("HOME")?).join(".aws/credentials"));
    value("AWS_SHARED_CREDENTIALS_FILE").map_or_else(home, |path| Some(path.into()))
}

/// The access key of a profile.
///
/// # Errors
/// The file cannot be read, or the profile has no access key.
pub(super) fn access_key(
    profile: &str,
    variables: &VariableLookup,
) -> Result<AwsAccessKey, InvalidCredential> {
    let invalid = |reason: String| InvalidCredential {
        key: KEY,
        reason,
        hint: Some(HINT),
    };
    let path = file(variables);
    let path = path.ok_or_else(|| {
        invalid("neither `AWS_SHARED_CREDENTIALS_FILE` nor `HOME` is set".to_owned())
    })?;
    let text = regular_file::read_text(&path, BYTES_MAX);
    let text =
        text.map_err(|error| invalid(format!("cannot read `{}`: {error}", path.display())))?;
    key_in(&text, profile).ok_or_else(|| {
        invalid(format!(
            "`{}` has no access key for profile `{profile}`",
            path.display()
        ))
    })
}

/// The access key in a section of the file.
fn key_in(text: &str, profile: &str) -> Option<AwsAccessKey> {
    let mut is_within = false;
    let [mut id, mut secret, mut token] = [None, None, None];
    for line in text.lines() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[') {
            is_within = name.strip_suffix(']').map(str::trim) == Some(profile);
            continue;
        }
        let Some((name, value)) = line.split_once('=').filter(|_| is_within) else {
            continue;
        };
        let value = Some(value.trim()).filter(|value| !value.is_empty());
        match name.trim() {
            "aws_access_key_id" => id = value,
            "aws_secret_access_key" => secret = value,
            "aws_session_token" => token = value,
            _ => {}
        }
    }
    let is_visible = |text: &&str| text.bytes().all(|byte| byte.is_ascii_graphic());
    Some(AwsAccessKey {
        id: id.filter(is_visible)?.into(),
        secret: secret.filter(is_visible)?.into(),
        session_token: token.filter(is_visible).map(Into::into),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# keys\n[default]\naws_access_key_id = AKID1\naws_secret_access_key=s/1+=\n\n[ staging ]\naws_access_key_id=AKID2\naws_secret_access_key = s2\naws_session_token = t==\nregion = eu-west-1\n[role]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = default\n";

    #[test]
    fn a_profile_has_the_key_of_its_section() {
        for (profile, expected) in [
            ("default", Some(("AKID1", "s/1+=", None))),
            ("staging", Some(("AKID2", "s2", Some("t==")))),
            ("role", None),
            ("other", None),
        ] {
            let key = key_in(FILE, profile);
            let parts = key
                .as_ref()
                .map(|key| (&*key.id, &*key.secret, key.session_token.as_deref()));
            assert_eq!(parts, expected, "{profile}");
        }
    }
}
