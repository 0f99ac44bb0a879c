//! The state of `headgate top`: what the gateway last sent, and what the user wants to see. Pure.

use super::feed::TopUpdate;
use super::palette::TopPalette;
use super::spark::TopTrafficHistory;
use headgate_core::page_value::list;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::Value;

/// The lines that the keys for a page scroll by.
const PAGE_LINES: usize = 10;

/// What is shown below the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TopView {
    Overview,
    Channels,
    InFlight,
    Recent,
}

/// Why the command ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TopEndReason {
    /// The user has quit.
    Quit,
    /// The gateway refuses to be read, with its sentence.
    Refused(String),
}

pub(super) struct TopState {
    pub url: String,
    pub palette: TopPalette,
    pub view: TopView,
    pub shows_help: bool,
    /// The number of lines above those that are shown.
    pub scroll: usize,
    /// The last `/overview`.
    pub overview: Value,
    pub history: TopTrafficHistory,
    /// The recent requests, the newest first.
    pub recent: Vec<Value>,
    /// Why there is no newer state.
    pub disconnected: Option<String>,
    pub end: Option<TopEndReason>,
}

impl TopView {
    pub const ALL: [Self; 4] = [Self::Overview, Self::Channels, Self::InFlight, Self::Recent];

    pub fn title(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Channels => "channels",
            Self::InFlight => "in flight",
            Self::Recent => "recent",
        }
    }
}

impl TopState {
    pub fn new(url: String, palette: TopPalette) -> Self {
        Self {
            url,
            palette,
            view: TopView::Overview,
            shows_help: false,
            scroll: 0,
            overview: Value::Null,
            history: TopTrafficHistory::default(),
            recent: Vec::new(),
            disconnected: None,
            end: None,
        }
    }

    pub fn apply(&mut self, update: TopUpdate) {
        match update {
            TopUpdate::Overview(overview) => {
                list(&overview["last_intervals"]).for_each(|interval| self.history.add(interval));
                self.overview = overview;
                self.disconnected = None;
            }
            TopUpdate::Traffic(page) => {
                list(&page["intervals"]).for_each(|interval| self.history.add(interval));
            }
            TopUpdate::Recent(page) => self.recent = list(&page["requests"]).cloned().collect(),
            TopUpdate::Disconnected(message) => self.disconnected = Some(message),
            TopUpdate::Refused(message) => self.end = Some(TopEndReason::Refused(message)),
        }
    }

    /// Whether the view contains recent requests.
    pub fn wants_recent(&self) -> bool {
        matches!(self.view, TopView::Overview | TopView::Recent)
    }

    pub fn press(&mut self, key: KeyEvent) {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => self.end = Some(TopEndReason::Quit),
            KeyCode::Esc | KeyCode::Char('?') if self.shows_help => self.shows_help = false,
            KeyCode::Esc | KeyCode::Char('q') => self.end = Some(TopEndReason::Quit),
            KeyCode::Char('?') => {
                self.shows_help = true;
                self.scroll = 0;
            }
            KeyCode::Char(digit @ '1'..='4') => {
                self.open(TopView::ALL[digit as usize - '1' as usize]);
            }
            KeyCode::Tab => self.open_next(1),
            KeyCode::BackTab => self.open_next(TopView::ALL.len() - 1),
            KeyCode::Up => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::Down => self.scroll = self.scroll.saturating_add(1),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(PAGE_LINES),
            KeyCode::PageDown => self.scroll = self.scroll.saturating_add(PAGE_LINES),
            KeyCode::Home => self.scroll = 0,
            // What is too far is corrected where the lines are counted.
            KeyCode::End => self.scroll = usize::MAX,
            _ => {}
        }
    }

    fn open_next(&mut self, steps: usize) {
        let at = TopView::ALL.iter().position(|view| *view == self.view);
        let next = (at.unwrap_or_default() + steps) % TopView::ALL.len();
        self.open(TopView::ALL[next]);
    }

    fn open(&mut self, view: TopView) {
        self.view = view;
        self.shows_help = false;
        self.scroll = 0;
    }
}
