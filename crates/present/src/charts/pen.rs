//! Lines and marks on a picture.

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;

use super::theme::PAPER;

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

/// Fills a rectangle.
pub fn bar<DB: DrawingBackend>(
    area: &Area<DB>,
    from: (i32, i32),
    to: (i32, i32),
    colour: RGBColor,
) -> Drawn {
    Ok(area.draw(&Rectangle::new([from, to], colour.filled()))?)
}

/// Draws a line through `points`, unbroken, broken or dotted as `mark` says.
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
