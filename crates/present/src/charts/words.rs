//! Words on a picture, and how long lines of them are broken.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::pen::{Area, Drawn};
use super::theme::{INK, SOFT, TEXT, font, width};
use crate::text::{clean, short};

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
    pub fn bold() -> Self {
        Self {
            bold: true,
            ..Self::plain()
        }
    }

    /// Of less weight.
    pub fn soft() -> Self {
        Self {
            colour: SOFT,
            ..Self::plain()
        }
    }

    /// In another size.
    pub fn size(self, size: f64) -> Self {
        Self { size, ..self }
    }

    /// Below the point.
    pub fn top(self) -> Self {
        Self {
            v: VPos::Top,
            ..self
        }
    }

    /// Left of the point.
    pub fn right(self) -> Self {
        Self {
            h: HPos::Right,
            ..self
        }
    }

    /// Across the point.
    pub fn centre(self) -> Self {
        Self {
            h: HPos::Center,
            ..self
        }
    }
}

/// Writes `text` at `at`.
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

/// The words of `text`, a unit and the number before it as one.
fn units_kept(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        let unit = word.trim_end_matches([',', ';', '.', ')', ':']);
        match words.last_mut() {
            Some(number) if ["s", "ms", "%", "×", "card·s"].contains(&unit) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Breaks `text` between words into lines no wider than `room`, at most `most` of them; what is left over is cut off
/// and the cut marked.
pub fn wrap(text: &str, size: f64, bold: bool, room: i32, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // A word that no line could hold, such as a hostile name, is cut.
    for word in units_kept(&clean(text)).into_iter().map(|w| short(&w, 60)) {
        let full = lines.len() == most;
        match lines.last_mut() {
            Some(last) if width(&format!("{last} {word}"), size, bold) <= room => {
                last.push(' ');
                last.push_str(&word);
            }
            Some(last) if full => {
                last.push('…');
                break;
            }
            _ => lines.push(word),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_titles_wrap_and_hostile_ones_are_cut() {
        let lines = wrap("one two three four five six", 40.0, true, 250, 9);
        assert!(lines.len() > 1, "{lines:?}");
        assert_eq!(lines.join(" "), "one two three four five six");
        let lines = wrap(&"word ".repeat(500), 40.0, true, 1100, 3);
        assert_eq!(lines.len(), 3);
        assert!(lines[2].ends_with('…'), "{lines:?}");
        assert_eq!(
            units_kept("in 90 s (2.43 × or 47 %)."),
            ["in", "90 s", "(2.43 ×", "or", "47 %)."]
        );
        assert_eq!(wrap("a\u{1b}[31mb", 40.0, true, 1100, 3), ["a [31mb"]);
    }
}
