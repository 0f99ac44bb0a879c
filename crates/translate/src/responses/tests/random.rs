//! Random responses, and the pieces of streams that they may come in.

use crate::escaped_text::EscapedText;
use crate::superset::{Arguments, FinishReason, OutputPart, Response, StreamPiece, Usage};
use std::collections::VecDeque;

/// The pieces of a part that are to come.
#[derive(Debug)]
struct PartPieces {
    is_call: bool,
    pieces: VecDeque<StreamPiece<'static>>,
}

/// Which parts of a stream come at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mixing {
    None,
    /// Only calls, as providers send them.
    Calls,
    All,
}

/// Numbers that look random, the same in each run.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    pub(crate) fn text(&mut self) -> EscapedText<'static> {
        let words = ["a", " b", "\n", "\"c\"", "é", "😀", "\\", "}{", "\u{1}"];
        let text: String = (0..=self.below(6))
            .map(|_| words[self.below(words.len())])
            .collect();
        EscapedText::plain(&text)
    }

    pub(crate) fn response(&mut self) -> Response<'static> {
        let finishes = [
            FinishReason::Stop,
            FinishReason::Length,
            FinishReason::ToolCalls,
            FinishReason::ContentFilter,
        ];
        let usage = Usage {
            input: self.below(1000) as u64,
            cache_read: self.below(10) as u64,
            cache_write: self.below(10) as u64,
            output: self.below(1000) as u64,
            reasoning: Some(self.below(10) as u64),
        };
        Response {
            id: None,
            parts: (0..self.below(8)).map(|_| self.part()).collect(),
            finish: Some(finishes[self.below(finishes.len())]),
            stop_sequence: None,
            usage: (self.below(3) > 0).then_some(usage),
        }
    }

    fn part(&mut self) -> OutputPart<'static> {
        match self.below(6) {
            0 | 1 => OutputPart::Text(self.text()),
            2 => OutputPart::Refusal(self.text()),
            3 => OutputPart::Thinking {
                text: self.text(),
                signature: (self.below(2) == 0).then(|| self.text()),
            },
            4 => OutputPart::SealedThinking(self.text()),
            _ => self.call(),
        }
    }

    fn call(&mut self) -> OutputPart<'static> {
        let text = self.text();
        let (name, arguments) = match self.below(3) {
            0 => ("free", Arguments::FreeText(text)),
            1 => (
                "free",
                Arguments::Text(Arguments::FreeText(text).json_text()),
            ),
            _ => ("f", Arguments::Text(text)),
        };
        OutputPart::ToolCall {
            id: EscapedText::plain(&format!("call_{}", self.below(1_000_000))),
            name: EscapedText::literal(name),
            arguments,
        }
    }

    /// The pieces of a stream with this response.
    pub(crate) fn pieces(
        &mut self,
        response: &Response<'static>,
        mixing: Mixing,
    ) -> Vec<StreamPiece<'static>> {
        let mut pieces = vec![StreamPiece::Start {
            id: None,
            usage: None,
        }];
        let numbered = response.parts.iter().zip(0..);
        let waiting = numbered.map(|(part, number)| self.part_pieces(part, number));
        let mut waiting: VecDeque<PartPieces> = waiting.collect();
        let mut open: Vec<PartPieces> = Vec::new();
        while !(waiting.is_empty() && open.is_empty()) {
            let may_mix = |next: &PartPieces| match mixing {
                Mixing::None => false,
                Mixing::Calls => next.is_call && open.iter().all(|part| part.is_call),
                Mixing::All => true,
            };
            let may_open = open.is_empty() || waiting.front().is_some_and(may_mix);
            if may_open && (open.is_empty() || self.below(4) == 0) {
                open.extend(waiting.pop_front());
                let opened = open.last_mut();
                pieces.extend(opened.and_then(|part| part.pieces.pop_front()));
            }
            let part = self.below(open.len());
            match open[part].pieces.pop_front() {
                Some(piece) => pieces.push(piece),
                None => drop(open.remove(part)),
            }
        }
        let finish = response.finish.map(|reason| StreamPiece::Finish {
            reason,
            stop_sequence: None,
        });
        pieces.extend(finish);
        pieces.extend(response.usage.map(StreamPiece::Usage));
        pieces.push(StreamPiece::End);
        pieces
    }

    fn part_pieces(&mut self, part: &OutputPart<'static>, part_number: u32) -> PartPieces {
        let mut pieces = VecDeque::new();
        match part {
            OutputPart::Text(text) => pieces.extend(self.cut(text).map(|text| StreamPiece::Text {
                part: part_number,
                text,
            })),
            OutputPart::Refusal(text) => {
                pieces.extend(self.cut(text).map(|text| StreamPiece::Refusal {
                    part: part_number,
                    text,
                }))
            }
            OutputPart::Thinking { text, signature } => {
                pieces.extend(self.cut(text).map(|text| StreamPiece::Thinking {
                    part: part_number,
                    text,
                }));
                pieces.extend(signature.clone().map(|signature| StreamPiece::Signature {
                    part: part_number,
                    signature,
                }));
            }
            OutputPart::SealedThinking(data) => pieces.push_back(StreamPiece::SealedThinking {
                part: part_number,
                data: data.clone(),
            }),
            OutputPart::ToolCall {
                id,
                name,
                arguments,
            } => {
                pieces.push_back(StreamPiece::ToolCall {
                    part: part_number,
                    id: id.clone(),
                    name: name.clone(),
                });
                match arguments {
                    Arguments::FreeText(text) => {
                        pieces.extend(self.cut(text).map(|text| StreamPiece::FreeText {
                            part: part_number,
                            text,
                        }))
                    }
                    Arguments::Text(_) | Arguments::Object(_) => {
                        pieces.extend(self.cut(&arguments.json_text()).map(|json| {
                            StreamPiece::Arguments {
                                part: part_number,
                                json,
                            }
                        }))
                    }
                }
            }
        }
        pieces.push_back(StreamPiece::PartEnd { part: part_number });
        let is_call = matches!(part, OutputPart::ToolCall { .. });
        PartPieces { is_call, pieces }
    }

    /// The pieces of a text, cut between any two characters.
    fn cut(
        &mut self,
        text: &EscapedText<'static>,
    ) -> impl Iterator<Item = EscapedText<'static>> + use<> {
        let mut pieces = vec![String::new()];
        for character in text.decoded().chars() {
            if self.below(3) == 0 {
                pieces.push(String::new());
            }
            pieces.last_mut().unwrap().push(character);
        }
        let cut = pieces.into_iter().skip_while(String::is_empty);
        cut.map(|piece| EscapedText::plain(&piece))
    }
}
