//! A file with a token that somebody else writes anew before it expires, such as the kubelet.

use headgate_core::credentials::temporary_credential::CredentialSourceError;
use headgate_core::regular_file;
use std::path::{Path, PathBuf};

/// Maximum size of such a file, in bytes.
const BYTES_MAX: u64 = 64 << 10;

/// The token in a file, without blanks around it.
///
/// # Errors
/// The file cannot be read, is larger than 64 KiB, or has no token.
pub(crate) async fn read_token_file(path: &Path) -> Result<String, CredentialSourceError> {
    let failed = |reason: String| CredentialSourceError(format!("{}: {reason}", path.display()));
    let owned: PathBuf = path.into();
    // A disk of the network may be slow.
    let read = tokio::task::spawn_blocking(move || regular_file::read_text(&owned, BYTES_MAX));
    let read = read.await.map_err(|error| failed(error.to_string()))?;
    let text = read.map_err(|error| failed(format!("cannot read the file: {error}")))?;
    match text.trim() {
        "" => Err(failed("the file is empty".into())),
        token => Ok(token.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_has_a_token_or_the_reason_names_it() {
        let folder = std::env::temp_dir().join(format!("headgate-token-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("token");
        for (content, expected) in [
            ("  token-1\n".to_owned(), Ok("token-1")),
            ("\n".to_owned(), Err("empty")),
            ("x".repeat(70_000), Err("larger than 64 KiB")),
        ] {
            std::fs::write(&path, &content).unwrap();
            match (read_token_file(&path).await, expected) {
                (Ok(token), Ok(expected)) => assert_eq!(token, expected),
                (Err(error), Err(reason)) => {
                    let named = error.0.contains(path.to_str().unwrap());
                    assert!(named && error.0.contains(reason), "{error}");
                }
                (found, _) => panic!("{found:?}"),
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(
            read_token_file(&path)
                .await
                .unwrap_err()
                .0
                .contains("token")
        );
    }
}
