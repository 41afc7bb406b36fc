//! Words on a picture.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::pen::{Area, Drawn};
use super::text::clean;
use super::theme::{INK, SOFT, TEXT, font};

/// How words are written.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations)] // plotters' positions have none
pub struct Words {
    size: f64,
    bold: bool,
    colour: RGBColor,
    h: HPos,
    v: VPos,
}

impl Words {
    /// Ink, upright to the right of the point, in its middle.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            size: TEXT,
            bold: false,
            colour: INK,
            h: HPos::Left,
            v: VPos::Center,
        }
    }

    /// Bold.
    #[must_use]
    pub fn bold() -> Self {
        Self {
            bold: true,
            ..Self::plain()
        }
    }

    /// Of less weight.
    #[must_use]
    pub fn soft() -> Self {
        Self {
            colour: SOFT,
            ..Self::plain()
        }
    }

    /// In another size.
    #[must_use]
    pub fn size(self, size: f64) -> Self {
        Self { size, ..self }
    }

    /// In another colour.
    #[must_use]
    pub fn colour(self, colour: RGBColor) -> Self {
        Self { colour, ..self }
    }

    /// Below the point.
    #[must_use]
    pub fn top(self) -> Self {
        Self {
            v: VPos::Top,
            ..self
        }
    }

    /// Left of the point.
    #[must_use]
    pub fn right(self) -> Self {
        Self {
            h: HPos::Right,
            ..self
        }
    }

    /// Across the point.
    #[must_use]
    pub fn centre(self) -> Self {
        Self {
            h: HPos::Center,
            ..self
        }
    }
}

/// Writes `text` at `at`.
///
/// # Errors
/// If the backend fails.
pub fn write<DB: DrawingBackend>(
    area: &Area<DB>,
    at: (i32, i32),
    text: &str,
    words: &Words,
) -> Drawn {
    let style = TextStyle::from(font(words.size, words.bold))
        .color(&words.colour)
        .pos(Pos::new(words.h, words.v));
    Ok(area.draw(&Text::new(clean(text), at, style))?)
}
