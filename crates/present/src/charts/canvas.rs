//! From a sketch (what to draw) to SVG and PNG: title, legend and note around a body.

use std::fmt;

use plotters::prelude::*;

use super::pen::{Area, DrawError, Drawn, Mark, bar, line, spot};
use super::theme::{LINE, MARGIN, PAPER, TEXT, TITLE, WIDTH, width};
use super::words::{Words, wrap, write};
use crate::text::{clean, short};

/// What a chart is: its words, and how its body is drawn on anything.
pub trait Sketch {
    /// What it shows, in a word or two joined by `-`: part of its file's name.
    fn name(&self) -> String;
    /// The finding, computed from the data.
    fn title(&self) -> String;
    /// What the marks mean.
    fn legend(&self) -> Vec<Key>;
    /// Small print: what exactly is shown, of which run.
    fn note(&self) -> String;
    /// Height of the body in units, of which the width is [`WIDTH`] less the margins.
    fn height(&self) -> u32;
    /// Draws the body, whose upper left corner is (0, 0).
    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn;
}

/// A chart that can be rendered: every [`Sketch`].
pub trait Chart: fmt::Debug {
    /// [`Sketch::name`].
    fn name(&self) -> String;
    /// [`Sketch::title`].
    fn title(&self) -> String;
    /// Renders it as an SVG document.
    fn svg(&self) -> Result<String, DrawError>;
    /// Renders it as a PNG image.
    fn png(&self, path: &std::path::Path) -> Drawn;
}

impl<S: Sketch + fmt::Debug> Chart for S {
    fn name(&self) -> String {
        Sketch::name(self)
    }

    fn title(&self) -> String {
        clean(&Sketch::title(self))
    }

    fn svg(&self) -> Result<String, DrawError> {
        let frame = Frame::of(self);
        let mut text = String::new();
        {
            let root =
                SVGBackend::with_string(&mut text, (WIDTH, frame.height)).into_drawing_area();
            frame.draw(self, &root)?;
            root.present()?;
        }
        Ok(text)
    }

    fn png(&self, path: &std::path::Path) -> Drawn {
        let frame = Frame::of(self);
        let root = BitMapBackend::new(path, (WIDTH, frame.height)).into_drawing_area();
        frame.draw(self, &root)?;
        Ok(root.present()?)
    }
}

/// An entry of a legend.
#[derive(Debug, Clone)]
pub struct Key {
    /// How it looks.
    pub mark: Mark,
    /// Its colour.
    pub colour: RGBColor,
    /// What it means.
    pub label: String,
}

impl Key {
    /// An entry.
    pub fn new(mark: Mark, colour: RGBColor, label: impl Into<String>) -> Self {
        let label = clean(&short(&label.into(), 60));
        Self {
            mark,
            colour,
            label,
        }
    }
}

/// Where everything around the body goes.
struct Frame {
    title: Vec<String>,
    /// Position and entry.
    legend: Vec<(i32, i32, Key)>,
    note: Vec<String>,
    body_top: i32,
    note_top: i32,
    height: u32,
}

impl Frame {
    fn of(sketch: &impl Sketch) -> Self {
        let right = WIDTH.cast_signed() - MARGIN;
        let room = right - MARGIN;
        let title = wrap(&sketch.title(), TITLE, true, room, 4);
        let mut y = MARGIN + 48 * line_count(&title);
        let mut x = MARGIN;
        let keys = sketch.legend();
        let mut legend = Vec::new();
        for key in keys {
            let wide = MARK + 12 + width(&key.label, TEXT, false) + 32;
            if x > MARGIN && x + wide > right {
                x = MARGIN;
                y += LINE + 4;
            }
            legend.push((x, y + 26, key));
            x += wide;
        }
        let body_top = y + if legend.is_empty() { 16 } else { LINE + 28 };
        let height = i32::try_from(sketch.height()).unwrap_or(0);
        let note = wrap(&sketch.note(), NOTE, false, room, 4);
        let note_top = body_top + height + 12;
        let bottom = note_top + NOTE_LINE * line_count(&note) + MARGIN;
        Self {
            title,
            legend,
            note,
            body_top,
            note_top,
            height: bottom.unsigned_abs(),
        }
    }

    fn draw<DB: DrawingBackend>(&self, sketch: &impl Sketch, root: &Area<DB>) -> Drawn {
        root.fill(&PAPER)?;
        let mut y = MARGIN;
        for line in &self.title {
            write(root, (MARGIN, y), line, &Words::bold().size(TITLE).top())?;
            y += 48;
        }
        for (x, y, key) in &self.legend {
            mark(root, (*x, *y), key)?;
            write(root, (x + MARK + 12, *y), &key.label, &Words::plain())?;
        }
        let below = root.dim_in_pixel().1.cast_signed() - self.note_top + 12;
        let body = root.margin(self.body_top, below, MARGIN, MARGIN);
        sketch.draw(&body)?;
        let mut y = self.note_top;
        for line in &self.note {
            write(root, (MARGIN, y), line, &Words::soft().size(NOTE).top())?;
            y += NOTE_LINE;
        }
        Ok(())
    }
}

/// Height of the small print's letters, and from one line of it to the next.
const NOTE: f64 = 26.0;
const NOTE_LINE: i32 = 32;

fn line_count(lines: &[String]) -> i32 {
    i32::try_from(lines.len()).unwrap_or(0)
}

/// Width of a legend's mark.
pub const MARK: i32 = 44;

/// Draws a legend's mark, its left end at `(x, y)`.
fn mark<DB: DrawingBackend>(area: &Area<DB>, (x, y): (i32, i32), key: &Key) -> Drawn {
    let colour = key.colour;
    let middle = (x + MARK / 2, y);
    match key.mark {
        Mark::Fill => bar(area, (x, y - 13), (x + MARK, y + 13), colour),
        Mark::Line | Mark::Dash | Mark::Dots => {
            line(area, &[(x, y), (x + MARK, y)], key.mark, colour, 5)
        }
        point => spot(area, middle, point, colour),
    }
}
