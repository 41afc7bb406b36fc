//! Colours, fonts and sizes: one colour a team everywhere, safe for the colour-blind.
//!
//! A picture is laid out 1200 units wide so that it is still readable when it is shown at 600 px: nothing is written
//! smaller than 12 px then.

use std::sync::Once;

use plotters::style::{Color, FontDesc, FontFamily, FontStyle, RGBColor, register_font};

/// Width of every picture.
pub const WIDTH: u32 = 1200;
/// Height of a title's letters.
pub const TITLE: f64 = 40.0;
/// Height of all other letters.
pub const TEXT: f64 = 30.0;
/// From one line of text to the next.
pub const LINE: i32 = 36;
/// Empty margin around everything.
pub const MARGIN: i32 = 24;

/// Text and axes.
pub const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
/// Text of less weight.
pub const SOFT: RGBColor = RGBColor(0x59, 0x59, 0x59);
/// Grid lines, and what is set aside but not used.
pub const GRID: RGBColor = RGBColor(0xd9, 0xd9, 0xd9);
/// What lies behind.
pub const PAPER: RGBColor = RGBColor(0xff, 0xff, 0xff);
/// What went wrong: vermillion, never a team's colour.
pub const WRONG: RGBColor = RGBColor(0xd5, 0x5e, 0x00);

/// Okabe and Ito, "Color Universal Design" (2008), without black (ink) and vermillion (wrong).
const PALETTE: [RGBColor; 6] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0xf0, 0xe4, 0x42),
];

/// One of the palette's colours, for what is no team.
pub fn shade(i: usize) -> RGBColor {
    PALETTE[i % PALETTE.len()]
}

/// Teams of the shipped experiments, whose colours are the same in every picture.
const KNOWN: [(&str, usize); 16] = [
    ("dedicated", 0),
    ("vision", 0),
    ("filler", 0),
    ("requests", 0),
    ("tasks", 0),
    ("shared", 1),
    ("research", 1),
    ("large", 1),
    ("workstation", 2),
    ("speech", 2),
    ("small", 2),
    ("others", 3),
    ("owners", 3),
    ("background", 3),
    ("arrivals", 3),
    ("borrower", 4),
];

/// Colours of the teams of one picture.
#[derive(Debug, Clone, Default)]
pub struct Teams(Vec<(String, RGBColor)>);

impl Teams {
    /// Gives each of `names` its colour: known teams theirs, the rest what is left, in order.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut teams: Vec<(String, Option<usize>)> = Vec::new();
        let mut used = Vec::new();
        for name in names {
            if teams.iter().all(|(n, _)| n != name) {
                let known = KNOWN.iter().find(|(n, i)| *n == name && !used.contains(i));
                used.extend(known.map(|(_, i)| *i));
                teams.push((name.to_owned(), known.map(|(_, i)| *i)));
            }
        }
        let mut free = (0..PALETTE.len()).filter(|i| !used.contains(i)).cycle();
        let colour = |i: usize| PALETTE[i % PALETTE.len()];
        Self(
            teams
                .into_iter()
                .map(|(name, i)| {
                    let i = i.or_else(|| free.next()).unwrap_or(0);
                    (name, colour(i))
                })
                .collect(),
        )
    }

    /// The colour of `team`; ink for one that the picture does not know.
    pub fn colour(&self, team: &str) -> RGBColor {
        self.0
            .iter()
            .find(|(n, _)| n == team)
            .map_or(INK, |(_, c)| *c)
    }
}

/// A colour as thin as a wash on paper (opaque, so that it looks the same over anything).
pub fn wash(colour: RGBColor) -> RGBColor {
    let thin = |c: u8| 255 - (255 - c) / 4;
    RGBColor(thin(colour.0), thin(colour.1), thin(colour.2))
}

/// `#rrggbb`.
pub fn hex(colour: RGBColor) -> String {
    let (r, g, b) = colour.to_backend_color().rgb;
    format!("#{r:02X}{g:02X}{b:02X}")
}

/// The embedded font's name. The SVG names it too; where it is not installed, Verdana is of the same width.
const FONT: &str = "DejaVu Sans, Verdana, sans-serif";

static REGISTER: Once = Once::new();

/// The embedded font, so that no machine needs fonts of its own.
pub fn font(size: f64, bold: bool) -> FontDesc<'static> {
    REGISTER.call_once(|| {
        // Both can only fail on bytes that are no font, which a test would find: no picture would hold any text.
        let _ = register_font(FONT, FontStyle::Normal, dejavu::sans::regular());
        let _ = register_font(FONT, FontStyle::Bold, dejavu::sans::bold());
    });
    let style = if bold {
        FontStyle::Bold
    } else {
        FontStyle::Normal
    };
    FontDesc::new(FontFamily::Name(FONT), size, style)
}

/// Width of `text` in the picture's units.
pub fn width(text: &str, size: f64, bold: bool) -> i32 {
    font(size, bold)
        .box_size(text)
        .map_or(0, |(w, _)| i32::try_from(w).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_team_keeps_its_colour_whoever_else_is_there() {
        let alone = Teams::new(["shared"]);
        let among = Teams::new(["zebra", "dedicated", "shared", "zebra"]);
        assert_eq!(alone.colour("shared"), among.colour("shared"));
        let all = ["zebra", "dedicated", "shared"].map(|t| hex(among.colour(t)));
        assert!(
            all[0] != all[1] && all[1] != all[2] && all[0] != all[2],
            "{all:?}"
        );
    }

    #[test]
    fn the_embedded_font_has_letters() {
        assert!(width("makespan", TEXT, false) > 50);
        assert!(width("makespan", TEXT, true) > width("makespan", TEXT, false));
    }
}
