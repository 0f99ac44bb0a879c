//! Copies of files that callers uploaded to a provider, under the provider's ids.
//!
//! A copy is an object of its own, which no URL and no other upload of the same bytes shares: its digest is salted.
//! Therefore it can be removed as soon as its file is deleted.

use super::content::{ContentDescriptor, ContentDigest, ContentHasher, split_pieces};
use super::error::MediaStoreError;
use super::object::{StoredObject, random_write};
use super::reader::ObjectReader;
use super::shared::CopyMemoryPermit;
use super::store::MediaStore;
use bytes::Bytes;
use headgate_core::state::calendar::{unix_ms, whole_ms};
use headgate_core::state::records::{InsertResult, RecordContent, RecordKind, owned_key};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// Random numbers in the salt of a digest.
const SALT_WORDS: usize = 2;
/// How often a removal begins again because the record changed meanwhile.
const REMOVE_TRIES: usize = 5;

/// A copy of a file, which is there.
#[derive(Clone, Debug)]
pub struct FileCopy {
    /// The provider's id of the file.
    pub id: String,
    pub content_type: String,
    object: StoredObject,
}

/// The value of a record.
#[derive(Deserialize, Serialize)]
struct FileCopyRecord {
    digest: [u8; 32],
    content_type: String,
}

/// The copies of files that a request names, for the filter that puts them into it.
pub struct RequestFileCopies(pub Vec<FileCopy>);

impl FileCopy {
    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.object.size
    }
}

impl MediaStore {
    /// Copies a file that was uploaded for `owner` and has the id `id` at its provider.
    ///
    /// It goes on if nobody waits for it any longer.
    ///
    /// # Errors
    /// The copy could not be stored; its object, if there is one, expires.
    pub async fn copy_file(
        self: &Arc<Self>,
        owner: &Arc<str>,
        id: &str,
        content: Bytes,
        content_type: &str,
    ) -> Result<(), MediaStoreError> {
        let (store, owner, id) = (self.clone(), owner.clone(), id.to_owned());
        let content_type = content_type.to_owned();
        let copying = tokio::spawn(async move {
            let copied = store.copy_to_end(&owner, &id, content, content_type);
            copied.await
        });
        copying.await.map_err(|_| MediaStoreError::ContentChanged)?
    }

    async fn copy_to_end(
        self: &Arc<Self>,
        owner: &Arc<str>,
        id: &str,
        content: Bytes,
        content_type: String,
    ) -> Result<(), MediaStoreError> {
        let (size, pieces) = (content.len() as u64, split_pieces(content.clone()));
        let digest = spawn_blocking(move || salted_digest(&content)).await;
        let digest = digest.map_err(|_| MediaStoreError::ContentChanged)?;
        let info = ContentDescriptor {
            digest,
            size,
            content_type,
        };
        // The record is first, so that a removal finds whatever is stored.
        let key = owned_key(owner, id);
        self.record_copy(owner, &key, &info).await?;
        if let Err(error) = self.put(owner, &info, pieces).await {
            self.remove_file_copy(owner, id).await?;
            return Err(error);
        }
        let record = self.state.records().get(RecordKind::FileCopy, &key);
        match record.get().await? {
            Some(_) => Ok(()),
            // It was removed before its object had a record.
            None => self.discard_copy(owner, digest).await,
        }
    }

    async fn record_copy(
        &self,
        owner: &Arc<str>,
        key: &str,
        info: &ContentDescriptor,
    ) -> Result<(), MediaStoreError> {
        let record = FileCopyRecord {
            digest: *info.digest.bytes(),
            content_type: info.content_type.clone(),
        };
        let (content, records) = (self.copy_content(owner, &record), self.state.records());
        let limit = self.settings.limits.objects_per_caller;
        let inserted = records.insert(RecordKind::FileCopy, key, content.clone(), limit);
        match inserted.get().await? {
            InsertResult::Inserted { .. } => Ok(()),
            InsertResult::OwnerFull => Err(MediaStoreError::OwnerFull),
            // The provider gave out an id for the second time.
            InsertResult::Exists(known) => {
                let replaced = records.replace(RecordKind::FileCopy, key, known.version, content);
                replaced.get().await?.ok_or(MediaStoreError::Busy)?;
                Ok(())
            }
        }
    }

    /// The copy of a file of `owner`, which is then kept for at least the configured time from now; `None` if there is
    /// none.
    ///
    /// # Errors
    /// The records are unreachable.
    pub async fn file_copy(
        &self,
        owner: &Arc<str>,
        id: &str,
    ) -> Result<Option<FileCopy>, MediaStoreError> {
        let key = owned_key(owner, id);
        let records = self.state.records();
        let Some(found) = records.get(RecordKind::FileCopy, &key).get().await? else {
            return Ok(None);
        };
        let Ok(record) = serde_json::from_slice::<FileCopyRecord>(&found.content.value) else {
            return Ok(None);
        };
        let Some(object) = self.renew(ContentDigest::new(record.digest)).await? else {
            return Ok(None);
        };
        let info = ContentDescriptor {
            digest: object.digest,
            size: object.size,
            content_type: record.content_type.clone(),
        };
        // A copy that is in use is charged for, and stays where a quota has become smaller.
        let _ = self.record_use(owner, &info, object.expires_s).await;
        // Another request may have renewed the record meanwhile.
        let content = self.copy_content(owner, &record);
        let renewed = records.replace(RecordKind::FileCopy, &key, found.version, content);
        if renewed.get().await?.is_none() {
            let record = records.get(RecordKind::FileCopy, &key).get().await?;
            if record.is_none() {
                // The file was deleted meanwhile.
                self.end_use(owner, info.digest).await?;
                return Ok(None);
            }
        }
        Ok(Some(FileCopy {
            id: id.to_owned(),
            content_type: record.content_type,
            object,
        }))
    }

    /// Waits until a request may take `bytes` of memory for copies that it sends; `None` if others keep it for 30 s.
    pub async fn admit_copies(&self, bytes: u64) -> Option<CopyMemoryPermit> {
        self.shared.admit_copies(bytes).await
    }

    /// Opens a copy; `None` if its content is not there.
    ///
    /// # Errors
    /// The object store is unreachable.
    pub async fn open_file_copy(
        self: &Arc<Self>,
        copy: &FileCopy,
    ) -> Result<Option<ObjectReader>, MediaStoreError> {
        self.open(&copy.object, 0, copy.object.size).await
    }

    /// Removes the copy of a file, if there is one. If it fails, whoever tries again removes what is left.
    ///
    /// # Errors
    /// The records or the object are unreachable.
    pub async fn remove_file_copy(
        &self,
        owner: &Arc<str>,
        id: &str,
    ) -> Result<(), MediaStoreError> {
        let key = owned_key(owner, id);
        let records = self.state.records();
        // An edit may renew the record meanwhile.
        for _ in 0..REMOVE_TRIES {
            let Some(found) = records.get(RecordKind::FileCopy, &key).get().await? else {
                return Ok(());
            };
            if let Ok(record) = serde_json::from_slice::<FileCopyRecord>(&found.content.value) {
                let digest = ContentDigest::new(record.digest);
                self.discard_copy(owner, digest).await?;
            }
            let removed = records.remove(RecordKind::FileCopy, &key, found.version);
            if removed.get().await? {
                return Ok(());
            }
        }
        Err(MediaStoreError::Busy)
    }

    async fn discard_copy(
        &self,
        owner: &Arc<str>,
        digest: ContentDigest,
    ) -> Result<(), MediaStoreError> {
        self.discard(digest).await?;
        self.end_use(owner, digest).await
    }

    fn copy_content(&self, owner: &Arc<str>, record: &FileCopyRecord) -> RecordContent {
        let value = serde_json::to_vec(record).expect("a record of plain fields is JSON");
        RecordContent {
            value: value.into(),
            owner: owner.clone(),
            expires_ms: unix_ms() + whole_ms(self.settings.ttl),
            due_ms: None,
        }
    }
}

/// A digest that no other copy and no other object has.
fn salted_digest(content: &[u8]) -> ContentDigest {
    let mut hasher = ContentHasher::default();
    hasher.update(b"file copy");
    for _ in 0..SALT_WORDS {
        hasher.update(&random_write().to_be_bytes());
    }
    hasher.update(content);
    hasher.digest()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Directory, store_in};
    use headgate_core::state::StateStore;
    use headgate_core::state::memory::MemoryStore;

    const FILE: Bytes = Bytes::from_static(b"a file");

    fn new_store(directory: &Directory) -> Arc<MediaStore> {
        let state: Arc<dyn StateStore> = Arc::new(MemoryStore::default());
        store_in(directory, &state)
    }

    #[tokio::test]
    async fn a_copy_is_read_by_its_owner_only() {
        let directory = Directory::new();
        let store = new_store(&directory);
        let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
        store
            .copy_file(&ann, "file-1", FILE, "image/png")
            .await
            .unwrap();
        for (owner, id) in [(&bob, "file-1"), (&ann, "file-2"), (&ann, "")] {
            assert!(
                store.file_copy(owner, id).await.unwrap().is_none(),
                "{owner} {id}"
            );
            store.remove_file_copy(owner, id).await.unwrap();
        }
        let copy = store.file_copy(&ann, "file-1").await.unwrap().unwrap();
        assert_eq!((copy.size(), &*copy.content_type), (6, "image/png"));
        let mut reader = store.open_file_copy(&copy).await.unwrap().unwrap();
        assert_eq!(reader.next_piece().await.unwrap(), Some(FILE));
    }

    #[tokio::test]
    async fn a_removed_copy_leaves_nothing_and_no_other_copy_changes() {
        let directory = Directory::new();
        let store = new_store(&directory);
        let owner: Arc<str> = "ann".into();
        for id in ["file-1", "file-2", "file-3", "file-4"] {
            store
                .copy_file(&owner, id, FILE, "image/png")
                .await
                .unwrap();
        }
        assert_eq!(directory.files(), 4);
        let full = store.copy_file(&owner, "file-5", FILE, "image/png").await;
        assert!(matches!(full, Err(MediaStoreError::OwnerFull)));
        for (id, left) in [("file-1", 3), ("file-1", 3), ("file-2", 2)] {
            store.remove_file_copy(&owner, id).await.unwrap();
            assert_eq!(directory.files(), left);
            assert_eq!(store.shared.counters.totals().objects, left as u64);
            assert!(store.file_copy(&owner, id).await.unwrap().is_none());
        }
        store
            .copy_file(&owner, "file-5", FILE, "image/png")
            .await
            .unwrap();
    }
}
