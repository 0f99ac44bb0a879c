//! The colours of `headgate top`. No information is in colours alone.

use ratatui::style::{Color, Modifier, Style};

/// How texts stand out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopPalette {
    Coloured,
    /// Bold and dim only.
    Plain,
}

impl TopPalette {
    pub fn good(self) -> Style {
        self.style(Color::Green)
    }

    pub fn warning(self) -> Style {
        self.style(Color::Yellow)
    }

    pub fn bad(self) -> Style {
        self.style(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// The style of a finding.
    pub fn severity(self, severity: &str) -> Style {
        match severity {
            "critical" => self.bad(),
            "warning" => self.warning().add_modifier(Modifier::BOLD),
            _ => self.strong(),
        }
    }

    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub fn quiet(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The line at the top and the name of the view that is shown.
    pub fn reversed(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn style(self, colour: Color) -> Style {
        match self {
            Self::Coloured => Style::new().fg(colour),
            Self::Plain => Style::new(),
        }
    }
}
