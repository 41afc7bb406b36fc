//! What exact intervals are found with.

/// What is left to each side of a two-sided 95 % interval.
pub const TAIL: f64 = 0.025;

/// Halvings of a range until a double cannot tell its ends apart.
const HALVINGS: u32 = 60;

/// Where `below` turns false, for a predicate that is true up to some value between 0 and `high`.
pub fn bisect(high: f64, below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, high);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}
