//! A pair of axes on a part of a picture.

use plotters::prelude::*;

use super::pen::{Area, Drawn, Mark, bar, line};
use super::scale::Scale;
use super::theme::{GRID, SOFT, TEXT, width};
use super::words::{Words, write};

/// A pair of axes and the rectangle between them.
#[allow(missing_debug_implementations)] // plotters' areas have none
pub struct Panel<'a, DB: DrawingBackend> {
    area: &'a Area<DB>,
    /// Pixels of the inner rectangle.
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
    x: Scale,
    y: Scale,
}

/// Room for a panel's title above its axes.
pub const HEAD: i32 = 50;
/// Room for the labels of the x axis.
pub const FOOT: i32 = 44;
/// Room for the x axis' own name, below its labels.
pub const NAME: i32 = 36;

impl<'a, DB: DrawingBackend> Panel<'a, DB> {
    /// Axes whose inner rectangle is `left..right` × `top..bottom`.
    pub fn new(
        area: &'a Area<DB>,
        (left, right): (i32, i32),
        (top, bottom): (i32, i32),
        x: Scale,
        y: Scale,
    ) -> Self {
        Self {
            area,
            left,
            right,
            top,
            bottom,
            x,
            y,
        }
    }

    /// Draws grid, labels and, above, the panel's `title` in bold and, where there is room, what the y axis counts.
    pub fn axes(&self, title: &str, y_name: &str) -> Drawn {
        for (value, label) in self.y.ticks() {
            let y = self.py(*value);
            line(
                self.area,
                &[(self.left, y), (self.right, y)],
                Mark::Line,
                GRID,
                2,
            )?;
            write(
                self.area,
                (self.left - 12, y),
                label,
                &Words::soft().right(),
            )?;
        }
        let above = self.top - 30;
        write(self.area, (self.left, above), title, &Words::bold())?;
        if width(title, TEXT, true) + width(y_name, TEXT, false) + 24 > self.right - self.left {
            return Ok(());
        }
        write(
            self.area,
            (self.right, above),
            y_name,
            &Words::soft().right(),
        )
    }

    /// Draws the x axis; with `labels` also its ticks' labels and below them its `name`.
    pub fn x_axis(&self, name: &str, labels: bool) -> Drawn {
        line(
            self.area,
            &[(self.left, self.bottom), (self.right, self.bottom)],
            Mark::Line,
            SOFT,
            2,
        )?;
        for (value, label) in self.x.ticks() {
            let x = self.px(*value);
            line(
                self.area,
                &[(x, self.bottom), (x, self.bottom + 8)],
                Mark::Line,
                SOFT,
                2,
            )?;
            if labels {
                write(
                    self.area,
                    (x, self.bottom + 26),
                    label,
                    &Words::soft().centre(),
                )?;
            }
        }
        if !labels {
            return Ok(());
        }
        let middle = i32::midpoint(self.left, self.right);
        write(
            self.area,
            (middle, self.bottom + FOOT + 18),
            name,
            &Words::soft().centre(),
        )
    }

    /// Where a pair of values lies.
    pub fn at(&self, x: f64, y: f64) -> (i32, i32) {
        (self.px(x), self.py(y))
    }

    #[allow(clippy::cast_possible_truncation)] // a share of 1 of a picture's width
    fn px(&self, value: f64) -> i32 {
        self.left + (self.x.at(value) * f64::from(self.right - self.left)).round() as i32
    }

    #[allow(clippy::cast_possible_truncation)]
    fn py(&self, value: f64) -> i32 {
        self.bottom - (self.y.at(value) * f64::from(self.bottom - self.top)).round() as i32
    }

    /// Fills from zero up to `height` between two x values.
    pub fn block(&self, from: f64, to: f64, height: f64, colour: RGBColor) -> Drawn {
        bar(self.area, self.at(from, height), self.at(to, 0.0), colour)
    }

    /// Fills below a series of steps, each `(x, y)` holding until the next.
    pub fn fill_steps(&self, steps: &[(f64, f64)], colour: RGBColor) -> Drawn {
        let mut path = self.steps(steps);
        if let (Some(first), Some(last)) = (path.first().copied(), path.last().copied()) {
            path.push((last.0, self.bottom));
            path.push((first.0, self.bottom));
            self.area.draw(&Polygon::new(path, colour.filled()))?;
        }
        Ok(())
    }

    /// Draws a series of steps as a line.
    pub fn line_steps(&self, steps: &[(f64, f64)], mark: Mark, colour: RGBColor) -> Drawn {
        let path = self.steps(steps);
        if path.len() < 2 {
            return Ok(());
        }
        line(self.area, &path, mark, colour, 4)
    }

    /// Draws a line through points.
    pub fn line(&self, points: &[(f64, f64)], mark: Mark, colour: RGBColor) -> Drawn {
        let path: Vec<_> = points.iter().map(|(x, y)| self.at(*x, *y)).collect();
        line(self.area, &path, mark, colour, 4)
    }

    /// Draws an upright line at `x` from bottom to top.
    pub fn upright(&self, x: f64, mark: Mark, colour: RGBColor) -> Drawn {
        let x = self.px(x);
        line(
            self.area,
            &[(x, self.bottom), (x, self.top)],
            mark,
            colour,
            3,
        )
    }

    fn steps(&self, steps: &[(f64, f64)]) -> Vec<(i32, i32)> {
        let mut path: Vec<(i32, i32)> = Vec::with_capacity(steps.len() * 2);
        for (x, y) in steps {
            let (x, y) = self.at(*x, *y);
            if let Some(&(_, before)) = path.last()
                && before != y
            {
                path.push((x, before));
            }
            path.push((x, y));
        }
        // A run of equal steps needs its ends only.
        let mut thin: Vec<(i32, i32)> = Vec::with_capacity(path.len());
        for point in path {
            if let [.., a, b] = thin[..]
                && a.1 == b.1
                && b.1 == point.1
            {
                thin.pop();
            }
            thin.push(point);
        }
        thin
    }
}
