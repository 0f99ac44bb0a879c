//! The object of a batch: its status, its usage, and the files of its results.

use super::BatchFormat;
use crate::json::DocumentNode;
use crate::usage::{self, TokenUsage};
use std::borrow::Cow;

/// A batch as a provider shows it, alone or in a list.
#[derive(Clone, Copy)]
pub struct BatchObject<'d> {
    node: DocumentNode<'d>,
    format: BatchFormat,
}

/// A file that a batch has written.
pub struct BatchResultsFile<'d> {
    pub id: Cow<'d, str>,
    /// Whether it has the responses, whose usage is that of the batch; the other file has errors.
    pub has_responses: bool,
}

/// The members with the ids of the files that a batch writes, and whether they have responses.
const RESULTS_FILES: [(&str, bool); 2] = [("output_file_id", true), ("error_file_id", false)];
/// The statuses of batches of a file that do not change any more.
const ENDED: [&str; 4] = ["completed", "failed", "expired", "cancelled"];

impl<'d> BatchObject<'d> {
    /// The batches in a response: the response itself, or those that it lists.
    pub fn find_all(root: DocumentNode<'d>, format: BatchFormat) -> Vec<Self> {
        let listed = root.get("data").into_iter();
        let listed = listed.flat_map(DocumentNode::elements);
        let all = listed.chain([root]).map(|node| Self { node, format });
        all.filter(|batch| batch.id().is_some()).collect()
    }

    pub fn id(self) -> Option<Cow<'d, str>> {
        self.node.get("id")?.as_str()
    }

    /// Whether the batch has ended, so that its usage does not change any more.
    pub fn has_ended(self) -> bool {
        let status = |name| self.node.get(name).and_then(DocumentNode::as_str);
        match self.format {
            BatchFormat::File => status("status").is_some_and(|it| ENDED.contains(&&*it)),
            BatchFormat::List => status("processing_status").is_some_and(|it| it == "ended"),
        }
    }

    /// The files with its results.
    pub fn results_files(self) -> Vec<BatchResultsFile<'d>> {
        let files = RESULTS_FILES.into_iter();
        let files = files.filter_map(|(name, has_responses)| {
            let id = self.node.get(name)?.as_str()?;
            Some(BatchResultsFile { id, has_responses })
        });
        files.collect()
    }

    /// The name of its model, if the provider shows one.
    pub fn model(self) -> Option<DocumentNode<'d>> {
        let model = self.node.get("model")?;
        model.as_str().map(|_| model)
    }

    /// The usage of all requests; `None` if it is not reported. Zeros are no report of requests that were processed.
    pub fn usage(self) -> Option<TokenUsage> {
        let usage = usage::from_json(self.format.usage(), self.node.raw())?;
        (usage.total() > 0 || self.has_no_response()).then_some(usage)
    }

    /// Whether no request of the ended batch was processed, so that it used nothing.
    pub fn has_no_response(self) -> bool {
        let processed = match self.format {
            BatchFormat::File => "completed",
            BatchFormat::List => "succeeded",
        };
        let count = |name| {
            let counts = self.node.get("request_counts");
            counts.and_then(|counts| counts.get(name)?.as_u64())
        };
        self.has_ended() && count(processed) == Some(0)
    }
}
