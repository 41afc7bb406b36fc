//! Rows of bars that lie on their side: at the left what a bar is of, at the right what it comes to.

use plotters::prelude::*;

use super::pen::{Area, Drawn, bar};
use super::scale::Scale;
use super::theme::{LINE, WIDTH};
use super::words::{Words, write};
use crate::text::short;

/// Thickness of a bar.
const BAR: i32 = 36;
/// From one row to the next.
pub const STEP: i32 = 46;
/// Room for a heading above the rows.
pub const HEADING: i32 = 50;

/// Rows are no closer than lines of text.
const _: () = assert!(STEP > LINE);

/// Rows with one scale. Every `y` is the middle of a row.
#[allow(missing_debug_implementations)] // plotters' areas have none
pub struct Bars<'a, DB: DrawingBackend> {
    body: &'a Area<DB>,
    left: i32,
    right: i32,
    scale: Scale,
}

impl<'a, DB: DrawingBackend> Bars<'a, DB> {
    /// Bars up to `most`, with `names` units of room at their left and `values` at their right.
    pub fn new(body: &'a Area<DB>, names: i32, values: i32, most: f64) -> Self {
        Self {
            body,
            left: names,
            right: WIDTH.cast_signed() - 48 - values,
            scale: Scale::exact(most),
        }
    }

    /// Where a value ends.
    #[allow(clippy::cast_possible_truncation)] // a share of a picture's width
    pub fn x(&self, value: f64) -> i32 {
        self.left + (self.scale.at(value) * f64::from(self.right - self.left)).round() as i32
    }

    /// Says what the rows below are.
    pub fn heading(&self, y: i32, text: &str) -> Drawn {
        write(self.body, (0, y), text, &Words::bold())
    }

    /// Says what a row is of, in at most `longest` characters.
    pub fn name(&self, y: i32, text: &str, longest: usize) -> Drawn {
        write(self.body, (0, y), &short(text, longest), &Words::plain())
    }

    /// Draws a bar of parts, one after the other.
    pub fn parts(&self, y: i32, parts: &[(f64, RGBColor)]) -> Drawn {
        let mut from = 0.0;
        for (part, colour) in parts.iter().filter(|(part, _)| *part > 0.0) {
            let (left, right) = (self.x(from), self.x(from + part));
            bar(
                self.body,
                (left, y - BAR / 2),
                (right, y + BAR / 2),
                *colour,
            )?;
            from += part;
        }
        Ok(())
    }

    /// Says what a row comes to.
    pub fn value(&self, y: i32, text: &str) -> Drawn {
        let at = (self.right + 24, y);
        write(self.body, at, text, &Words::soft().size(27.0))
    }
}
