//! Tables of Markdown, which are fit for a terminal, too.

use std::ops::Range;

use comfy_table::{Cell, CellAlignment, Table, presets};

use super::line::clean;

/// A table; columns in `numbers` are aligned to the right. Without rows, nothing.
pub fn table<R>(header: &[&str], numbers: Range<usize>, rows: impl IntoIterator<Item = R>) -> String
where
    R: IntoIterator<Item: AsRef<str>>,
{
    let mut rows = rows.into_iter().peekable();
    if rows.peek().is_none() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let cell = |(i, text): (usize, &str)| {
        let side = if numbers.contains(&i) {
            CellAlignment::Right
        } else {
            CellAlignment::Left
        };
        Cell::new(clean(text)).set_alignment(side)
    };
    table.set_header(header.iter().copied().enumerate().map(cell));
    for row in rows {
        let cells = row.into_iter().enumerate();
        table.add_row(cells.map(|(i, text)| cell((i, text.as_ref()))));
    }
    table.to_string()
}
