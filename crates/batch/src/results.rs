//! The results of a batch as they pass: each line gets the platform's name of its model, and its usage is added up.

mod lines;
mod names;
#[cfg(test)]
mod tests;

pub use names::PlatformModelNames;

use crate::batch_record::StoredResults;
use crate::batch_usage::{BatchUsage, UsageByLength};
use crate::settlement::UsageSettler;
use bytes::{Bytes, BytesMut};
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::price::ModelPrice;
use headgate_core::filter::response_pieces::ResponsePieceMapper;
use headgate_core::filter::view::RequestView;
use headgate_protocol::ChannelProtocol;
use headgate_protocol::batch::BatchFormat;
use headgate_protocol::json::skim;
use headgate_protocol::usage::{self, UsageShape};
use lines::LineReader;
use std::pin::Pin;
use std::sync::Arc;

/// Longest line that is changed, in bytes. Longer ones pass as they are, and are not metered.
const LINE_BYTES_MAX: usize = 8 << 20;

/// Maps the results of one batch.
pub struct ResultsMapper {
    lines: LineReader,
    counts: LineCounts,
    settler: Arc<UsageSettler>,
    channel: Arc<Channel>,
    results: StoredResults,
}

/// What the lines so far have.
struct LineCounts {
    names: PlatformModelNames,
    /// How the responses report usage; `None` if that is not known.
    shape: Option<&'static UsageShape>,
    /// The prices of each model, if it has any.
    prices: Vec<Option<Arc<ModelPrice>>>,
    by_model: Vec<UsageByLength>,
    /// Responses with the name of a model that is none of the batch's.
    unknown_models: u64,
    /// The first count that cannot be true; the usage of its line is not added up.
    implausible: Option<&'static str>,
    /// Responses that are no errors, and lack usage that has a price.
    unmetered: u64,
}

impl ResultsMapper {
    pub fn new(settler: Arc<UsageSettler>, channel: Arc<Channel>, results: StoredResults) -> Self {
        let record = &results.batch.record;
        let protocol = UsageSettler::protocol(&channel, record);
        Self {
            lines: LineReader::new(LINE_BYTES_MAX),
            counts: LineCounts {
                names: PlatformModelNames::new(record),
                shape: protocol.map(|it| ChannelProtocol::for_caller(it).usage()),
                prices: settler.prices(&channel, record),
                by_model: vec![UsageByLength::new(); record.models.len()],
                unknown_models: 0,
                implausible: None,
                unmetered: 0,
            },
            settler,
            channel,
            results,
        }
    }
}

impl ResponsePieceMapper for ResultsMapper {
    fn map(&mut self, piece: Bytes, is_last: bool) -> Bytes {
        let counts = &mut self.counts;
        self.lines
            .read(&piece, is_last, |line, mapped| counts.add(line, mapped))
    }

    fn end<'a>(
        &'a mut self,
        request: &'a mut RequestView,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(async move {
            let long_lines = self.lines.passed;
            let unknown_models = self.counts.unknown_models;
            let batch = &self.results.batch;
            if long_lines + unknown_models > 0 {
                tracing::warn!(
                    id = &*request.id,
                    batch = batch.id,
                    long_lines,
                    unknown_models,
                    "results of a batch have names of models that the gateway could not replace"
                );
            }
            if !self.results.has_usage || batch.record.is_settled {
                return;
            }
            let implausible = self.counts.implausible;
            let is_read = long_lines + unknown_models + self.counts.unmetered == 0;
            let used = BatchUsage {
                by_model: std::mem::take(&mut self.counts.by_model),
                is_complete: is_read && self.counts.shape.is_some() && implausible.is_none(),
                implausible,
            };
            let settled = self.settler.settle(request, &self.channel, batch, used);
            if let Err(error) = settled.await {
                let batch = batch.id.as_str();
                tracing::warn!(id = &*request.id, batch, %error, "cannot settle the usage of a batch");
            }
        })
    }
}

impl LineCounts {
    /// Adds up the usage of a line, and writes the line with the platform's name of its model.
    fn add(&mut self, line: &[u8], mapped: &mut BytesMut) {
        let response = [BatchFormat::File, BatchFormat::List].map(BatchFormat::response_path);
        let mut found = response.iter().filter_map(|path| skim::find(line, path));
        let Some(response) = found.next() else {
            mapped.extend_from_slice(line);
            return;
        };
        let model = skim::members(line, response.clone());
        let model = { model }.find(|(name, _)| *name == b"model");
        let name = model.and_then(|(_, span)| {
            let name = skim::plain_string(line, span.clone());
            Some((span, self.names.find(name?)))
        });
        let Some((span, index)) = name else {
            // An error, or a response that names no model: of a batch with one model, its usage is that model's.
            self.add_usage(0, &line[response]);
            mapped.extend_from_slice(line);
            return;
        };
        let Some(index) = index else {
            self.unknown_models += 1;
            mapped.extend_from_slice(line);
            return;
        };
        self.add_usage(index, &line[response]);
        mapped.extend_from_slice(&line[..span.start]);
        mapped.extend_from_slice(self.names.json(index));
        mapped.extend_from_slice(&line[span.end..]);
    }

    fn add_usage(&mut self, index: usize, response: &[u8]) {
        let usage = self
            .shape
            .and_then(|shape| usage::from_json(shape, response));
        let Some(usage) = usage else {
            self.unmetered += u64::from(!is_error(response));
            return;
        };
        if let Some(count) = usage.implausible_count(1) {
            self.implausible.get_or_insert(count);
        } else if let Some(by_length) = self.by_model.get_mut(index) {
            let price = self.prices.get(index).and_then(Option::as_ref);
            let tokens = price.and_then(|price| price.tokens.as_ref());
            let is_output_priced = tokens.is_some_and(|prices| prices.charges_output());
            let lacks_output = usage.output_tokens.is_none() && is_output_priced;
            self.unmetered += u64::from(lacks_output);
            let length = price.map_or(0, |price| price.shortest_input(&usage));
            let sum = by_length.entry(length).or_default();
            *sum = sum.plus(usage);
        }
    }
}

/// Whether the body of a response is an error.
fn is_error(response: &[u8]) -> bool {
    let error = skim::find(response, &["error"]);
    error.is_some_and(|span| response[span] != *b"null")
}
