//! Builds the signer of a channel at AWS from its configuration.

pub(super) mod aws_profile;

use super::VariableLookup;
use super::credentials::invalid_credential::InvalidCredential;
use crate::aws_credentials::AwsCredentialConfig;
use headgate_core::catalog::aws_signer::{AwsAccessKey, AwsSigner};
use headgate_core::catalog::base_url;
use headgate_core::scalar::Secret;

/// Ends of the hosts of AWS, behind the name of a region.
const HOST_ENDS: [&str; 4] = [
    ".vpce.amazonaws.com",
    ".amazonaws.com",
    ".amazonaws.com.cn",
    ".api.aws",
];
const REGION_HINT: &str = "add the region of the account's models, such as `region: eu-west-1`";

/// Where signatures count.
pub(super) struct SignatureScope {
    pub region: String,
    pub service: String,
}

/// The signer of requests to `base_url` with the access key that is written.
pub(super) fn build(
    config: &AwsCredentialConfig,
    base_url: &str,
    variables: &VariableLookup,
) -> Result<AwsSigner, InvalidCredential> {
    let access_key = access_key(config, variables)?;
    let SignatureScope { region, service } = scope(config, base_url)?;
    Ok(AwsSigner::new(access_key, &region, &service))
}

/// The access key that is written here or in a profile.
pub(super) fn access_key(
    config: &AwsCredentialConfig,
    variables: &VariableLookup,
) -> Result<AwsAccessKey, InvalidCredential> {
    let is_written = config.access_key_id.is_some() || config.secret_access_key.is_some();
    if let Some(profile) = config.profile.as_deref().filter(|_| !is_written) {
        return aws_profile::access_key(profile, variables);
    }
    if config.profile.is_some() {
        return Err(InvalidCredential {
            key: "/aws/profile",
            reason: "`profile` and an access key are mutually exclusive".into(),
            hint: None,
        });
    }
    let (Some(id), Some(secret)) = (&config.access_key_id, &config.secret_access_key) else {
        return Err(InvalidCredential {
            key: "/aws",
            reason: "an access key has both `access_key_id` and `secret_access_key`".into(),
            hint: None,
        });
    };
    let access_key = AwsAccessKey {
        id: part_of_key("/aws/access_key_id", id)?,
        secret: part_of_key("/aws/secret_access_key", secret)?,
        session_token: match &config.session_token {
            Some(token) => Some(part_of_key("/aws/session_token", token)?),
            None => None,
        },
    };
    match access_key.id.contains(['/', ',']) {
        false => Ok(access_key),
        true => Err(InvalidCredential {
            key: "/aws/access_key_id",
            reason: "an access key id has neither `/` nor `,`".into(),
            hint: Some("`access_key_id` is the shorter part of the key, such as `AKIA…`"),
        }),
    }
}

/// Region and service of requests to `base_url`.
pub(super) fn scope(
    config: &AwsCredentialConfig,
    base_url: &str,
) -> Result<SignatureScope, InvalidCredential> {
    let region = match &config.region {
        Some(region) => name("/aws/region", region, REGION_HINT)?.to_owned(),
        None => region_in(base_url).ok_or_else(|| InvalidCredential {
            key: "/aws",
            reason: "`region` is missing, and the host of `base_url` names none".into(),
            hint: Some(REGION_HINT),
        })?,
    };
    let service = name("/aws/service", &config.service, "leave it out for Bedrock")?;
    match service {
        "s3" => Err(InvalidCredential {
            key: "/aws/service",
            reason: "S3 signs paths in another way than all other services".into(),
            hint: Some("leave it out for Bedrock"),
        }),
        service => Ok(SignatureScope {
            region,
            service: service.to_owned(),
        }),
    }
}

/// Part of an access key, which stands in headers.
fn part_of_key(key: &'static str, part: &Secret) -> Result<Box<str>, InvalidCredential> {
    let part = part.expose();
    match part.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(part.into()),
        false => Err(InvalidCredential {
            key,
            reason: "the value has characters that no access key of AWS has".into(),
            hint: Some("write the value as AWS shows it, without blanks and line ends"),
        }),
    }
}

fn name<'n>(
    key: &'static str,
    name: &'n str,
    hint: &'static str,
) -> Result<&'n str, InvalidCredential> {
    let is_of_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    match !name.is_empty() && name.bytes().all(is_of_name) {
        true => Ok(name),
        false => Err(InvalidCredential {
            key,
            reason: "the name must consist of lower-case letters, digits and `-`".into(),
            hint: Some(hint),
        }),
    }
}

/// The region in the host of a URL of AWS.
fn region_in(base_url: &str) -> Option<String> {
    let (base, _) = base_url::parse_with_query(base_url).ok()?;
    let host = base.host.to_ascii_lowercase();
    let before = HOST_ENDS.iter().find_map(|end| host.strip_suffix(end))?;
    let region = before.rsplit('.').next().unwrap_or_default();
    let words: Vec<&str> = region.split('-').collect();
    let (number, words) = words.split_last()?;
    let is_word = |word: &&str| !word.is_empty() && word.bytes().all(|it| it.is_ascii_lowercase());
    let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
    (words.len() >= 2 && words.iter().all(is_word) && is_number).then(|| region.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn config(change: impl FnOnce(&mut AwsCredentialConfig)) -> AwsCredentialConfig {
        let mut config = AwsCredentialConfig {
            access_key_id: Secret::new("AKIDEXAMPLE").ok(),
            secret_access_key: Secret::new("secret/with+signs=").ok(),
            session_token: None,
            profile: None,
            container: false,
            instance: false,
            web_identity: None,
            assume_role: None,
            region: None,
            service: "bedrock".into(),
        };
        change(&mut config);
        config
    }

    fn no_variables() -> VariableLookup {
        Arc::new(|_| None)
    }

    #[test]
    fn the_region_is_that_of_the_host_where_it_has_the_form_of_aws() {
        for (url, region) in [
            (
                "https://bedrock-runtime.eu-west-1.amazonaws.com",
                Some("eu-west-1"),
            ),
            (
                "https://bedrock-runtime-fips.us-gov-east-1.amazonaws.com/openai/v1",
                Some("us-gov-east-1"),
            ),
            (
                "https://BEDROCK-runtime.EU-central-1.amazonaws.com:443",
                Some("eu-central-1"),
            ),
            (
                "https://vpce-1-a.bedrock-runtime.ap-southeast-2.vpce.amazonaws.com",
                Some("ap-southeast-2"),
            ),
            (
                "https://bedrock-runtime.cn-north-1.amazonaws.com.cn",
                Some("cn-north-1"),
            ),
            (
                "https://bedrock-mantle.us-east-2.api.aws",
                Some("us-east-2"),
            ),
            ("https://bedrock.amazonaws.com", None),
            ("https://bedrock-runtime.amazonaws.com", None),
            ("https://x.eu-west-1.amazonaws.com.evil.example", None),
            ("https://eu-west-1.example", None),
            ("http://127.0.0.1:8080", None),
        ] {
            assert_eq!(region_in(url).as_deref(), region, "{url}");
        }
    }

    #[test]
    fn a_credential_that_cannot_sign_is_refused_where_it_is_wrong() {
        const AWS: &str = "https://bedrock-runtime.eu-west-1.amazonaws.com";
        const OTHER: &str = "https://gateway.example";
        type Change = fn(&mut AwsCredentialConfig);
        let cases: [(&str, &str, &str, Change); 9] = [
            (AWS, "/aws/profile", "exclusive", |it| {
                it.profile = Some("default".into());
            }),
            (AWS, "/aws", "both", |it| it.secret_access_key = None),
            (OTHER, "/aws", "`region` is missing", |_| {}),
            (AWS, "/aws/region", "lower-case", |it| {
                it.region = Some("EU West".into());
            }),
            (AWS, "/aws/region", "lower-case", |it| {
                it.region = Some("".into())
            }),
            (AWS, "/aws/service", "lower-case", |it| {
                it.service = "bed/rock".into();
            }),
            (AWS, "/aws/service", "S3", |it| it.service = "s3".into()),
            (AWS, "/aws/access_key_id", "neither", |it| {
                it.access_key_id = Secret::new("a/b").ok();
            }),
            (AWS, "/aws/session_token", "characters", |it| {
                it.session_token = Some(Secret::new("a\nb").unwrap());
            }),
        ];
        for (url, key, reason, change) in cases {
            let refused = build(&config(change), url, &no_variables()).unwrap_err();
            assert_eq!(refused.key, key, "{refused:?}");
            assert!(refused.reason.contains(reason), "{refused:?}");
        }
        assert!(build(&config(|_| {}), AWS, &no_variables()).is_ok());
        let named = config(|it| it.region = Some("eu-west-1".into()));
        assert!(build(&named, OTHER, &no_variables()).is_ok());
    }
}
