//! How numbers, lines and tables are printed: the one home of what every page, table and picture shares.

mod line;
mod number;
mod table;

pub use line::{clean, in_one_line, shell, short, to_the_second};
pub use number::{count, percent, percentile, secs, thousands, times, whole};
pub use table::table;
