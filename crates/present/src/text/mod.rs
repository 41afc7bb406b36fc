//! How numbers, lines and tables are printed: the one home of what every page, table and picture shares.

mod group;
mod line;
mod number;
mod table;
mod value;

pub use group::{each_once, grouped, joined, unless_none};
pub use line::{clean, in_one_line, shell, short, to_the_second};
pub use number::{count, percent, secs, thousands, times, whole};
pub use table::table;
pub use value::{amount, name, number, out_of, owner, percentile, spread, spread_of};
