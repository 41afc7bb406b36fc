//! Places for many small panels: two columns, or one panel over the whole width.

use super::panel::{FOOT, HEAD, NAME};
use super::theme::{MARGIN, WIDTH};

/// Room for the labels of a panel's y axis.
const LABELS: i32 = 96;
/// Space between columns and between rows.
const GAP: i32 = 24;

/// A panel's place: left and right, top and bottom of its inner rectangle.
pub type Place = ((i32, i32), (i32, i32));

/// Places for `n` panels whose inner height is `height`, in reading order.
pub fn places(n: usize, height: i32) -> Vec<Place> {
    let room = WIDTH.cast_signed() - 2 * MARGIN;
    let columns = if n > 1 { 2 } else { 1 };
    let wide = (room - (columns - 1) * GAP) / columns;
    let place = |i: usize| {
        let i = i32::try_from(i).unwrap_or(0);
        let left = (i % columns) * (wide + GAP);
        let top = (i / columns) * (HEAD + height + FOOT + GAP) + HEAD;
        ((left + LABELS, left + wide - 30), (top, top + height))
    };
    (0..n).map(place).collect()
}

/// Height of a body that holds them, with the last row's axis names.
pub fn height(n: usize, height: i32) -> u32 {
    let bottom = places(n, height)
        .last()
        .map_or(0, |(_, (_, bottom))| *bottom);
    (bottom + FOOT + NAME).unsigned_abs()
}

/// Each of `all` with the place of its panel, and whether that is the last one of its column.
pub fn each<T>(all: &[T], height: i32) -> impl Iterator<Item = (&T, Place, bool)> {
    let placed = all.iter().zip(places(all.len(), height)).enumerate();
    placed.map(|(i, (one, place))| (one, place, i + 2 >= all.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_never_overlap_or_leave_the_picture() {
        for n in 1..9 {
            let all = places(n, 200);
            for (i, (sides, rows)) in all.iter().enumerate() {
                assert!(sides.0 > 0 && sides.1 <= 1152 && sides.0 < sides.1);
                assert!(rows.1.unsigned_abs() < height(n, 200));
                for (other_sides, other_rows) in &all[i + 1..] {
                    assert!(sides.1 < other_sides.0 || rows.1 < other_rows.0);
                }
            }
        }
    }
}
