//! From a sketch (what to draw) to SVG and PNG: title, legend and note around a body.

use std::fmt;

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::text::{clean, wrap};
use super::theme::{GRID, INK, LINE, MARGIN, PAPER, SOFT, TEXT, TITLE, WIDTH, font, width};

/// What can be drawn on.
pub type Area<DB> = DrawingArea<DB, Shift>;

/// Why a picture could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("can't draw: {0}")]
pub struct DrawError(String);

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for DrawError {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        Self(error.to_string())
    }
}

/// Nothing, or why it could not be drawn.
pub type Drawn = Result<(), DrawError>;

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
    ///
    /// # Errors
    /// If the backend fails.
    fn draw<DB: DrawingBackend>(&self, body: &Area<DB>) -> Drawn;
}

/// A chart that can be rendered: every [`Sketch`].
pub trait Chart: fmt::Debug {
    /// [`Sketch::name`].
    fn name(&self) -> String;
    /// [`Sketch::title`].
    fn title(&self) -> String;
    /// Renders it as an SVG document.
    ///
    /// # Errors
    /// If drawing fails.
    fn svg(&self) -> Result<String, DrawError>;
    /// Renders it as a PNG image.
    ///
    /// # Errors
    /// If drawing or encoding fails.
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

/// How something looks in a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A filled area.
    Fill,
    /// An unbroken line.
    Line,
    /// A broken line.
    Dash,
    /// A dotted line.
    Dots,
    /// A filled circle.
    Circle,
    /// An empty circle.
    Ring,
    /// A filled diamond.
    Diamond,
    /// An empty triangle that points up: more than this.
    Over,
    /// A cross.
    Cross,
    /// A short upright line.
    Tick,
}

impl Key {
    /// An entry.
    pub fn new(mark: Mark, colour: RGBColor, label: impl Into<String>) -> Self {
        let label = clean(&super::text::short(&label.into(), 60));
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

/// Width of a legend's mark.
const MARK: i32 = 44;

impl Frame {
    fn of(sketch: &impl Sketch) -> Self {
        let right = WIDTH.cast_signed() - MARGIN;
        let room = right - MARGIN;
        let title = wrap(&sketch.title(), TITLE, true, room, 3);
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

/// Fills a rectangle.
///
/// # Errors
/// If the backend fails.
pub fn bar<DB: DrawingBackend>(
    area: &Area<DB>,
    from: (i32, i32),
    to: (i32, i32),
    colour: RGBColor,
) -> Drawn {
    Ok(area.draw(&Rectangle::new([from, to], colour.filled()))?)
}

/// Draws a line through `points`, unbroken, broken or dotted as `mark` says.
///
/// # Errors
/// If the backend fails.
pub fn line<DB: DrawingBackend>(
    area: &Area<DB>,
    points: &[(i32, i32)],
    mark: Mark,
    colour: RGBColor,
    wide: u32,
) -> Drawn {
    let style = colour.stroke_width(wide);
    let (on, off) = match mark {
        Mark::Dash => (14.0, 10.0),
        Mark::Dots => (5.0, 9.0),
        _ => {
            return Ok(area.draw(&PathElement::new(points.to_vec(), style))?);
        }
    };
    for piece in dashes(points, on, off) {
        area.draw(&PathElement::new(piece, style))?;
    }
    Ok(())
}

/// Cuts a path into pieces of length `on` with gaps of `off` between them.
fn dashes(points: &[(i32, i32)], on: f64, off: f64) -> Vec<Vec<(i32, i32)>> {
    let mut pieces = Vec::new();
    let mut piece: Vec<(i32, i32)> = Vec::new();
    let (mut drawing, mut left) = (true, on);
    for pair in points.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let length = dx.hypot(dy);
        let mut done = 0.0;
        #[allow(clippy::cast_possible_truncation)] // within the picture
        let along = |s: f64| {
            let part = if length > 0.0 { s / length } else { 0.0 };
            (
                from.0 + (dx * part).round() as i32,
                from.1 + (dy * part).round() as i32,
            )
        };
        if drawing && piece.is_empty() {
            piece.push(from);
        }
        while length - done > left {
            done += left;
            if drawing {
                piece.push(along(done));
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece = vec![along(done)];
            }
            drawing = !drawing;
            left = if drawing { on } else { off };
        }
        left -= length - done;
        if drawing {
            piece.push(to);
        }
    }
    if piece.len() > 1 {
        pieces.push(piece);
    }
    pieces
}

/// Draws a mark that stands at a point.
///
/// # Errors
/// If the backend fails.
pub fn spot<DB: DrawingBackend>(
    area: &Area<DB>,
    (x, y): (i32, i32),
    mark: Mark,
    colour: RGBColor,
) -> Drawn {
    let stroke = colour.stroke_width(4);
    match mark {
        Mark::Ring => area.draw(&Circle::new((x, y), 9, stroke))?,
        Mark::Diamond => {
            let corners = vec![(x - 12, y), (x, y - 12), (x + 12, y), (x, y + 12)];
            area.draw(&Polygon::new(corners.clone(), colour.filled()))?;
            // A rim of paper keeps it visible on a bar of any colour.
            let rim = [corners.clone(), vec![corners[0]]].concat();
            area.draw(&PathElement::new(rim, PAPER.stroke_width(2)))?;
        }
        Mark::Over => {
            let rim = vec![
                (x - 11, y + 9),
                (x, y - 11),
                (x + 11, y + 9),
                (x - 11, y + 9),
            ];
            area.draw(&PathElement::new(rim, stroke))?;
        }
        Mark::Cross => {
            area.draw(&PathElement::new(
                vec![(x - 9, y - 9), (x + 9, y + 9)],
                stroke,
            ))?;
            area.draw(&PathElement::new(
                vec![(x - 9, y + 9), (x + 9, y - 9)],
                stroke,
            ))?;
        }
        Mark::Tick => bar(area, (x - 2, y - 16), (x + 2, y + 16), colour)?,
        _ => area.draw(&Circle::new((x, y), 8, colour.filled()))?,
    }
    Ok(())
}

/// Colour of grid lines, for panels.
pub(super) const fn grid() -> RGBColor {
    GRID
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dashed_line_covers_its_share_and_goes_round_corners() {
        let pieces = dashes(&[(0, 0), (100, 0), (100, 100)], 10.0, 10.0);
        let drawn: f64 = pieces
            .iter()
            .flat_map(|p| {
                p.windows(2)
                    .map(|w| f64::from((w[1].0 - w[0].0) + (w[1].1 - w[0].1)))
            })
            .sum();
        assert!((drawn - 100.0).abs() < 11.0, "{drawn}");
        assert!(
            dashes(&[(5, 5), (5, 5)], 10.0, 10.0)
                .iter()
                .all(|p| p.len() <= 2)
        );
    }
}
