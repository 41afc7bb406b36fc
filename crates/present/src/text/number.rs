//! Numbers with their unit and censoring, as every table, page and picture prints them.

/// A whole number with its thousands apart: `18,352`.
pub fn whole(value: f64) -> String {
    if !value.is_finite() || value.abs() >= 1e15 {
        return format!("{value:.1e}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 && digits != "0" {
        format!("-{text}")
    } else {
        text
    }
}

/// A span of time with its unit and three or four digits: `350 ms`, `1.52 s`, `458.8 s`.
pub fn secs(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => "?".into(),
        0.0 => "0 s".into(),
        v if v < 1.0 => format!("{:.0} ms", value * 1000.0),
        v if v < 100.0 => format!("{} s", trimmed(&format!("{value:.2}"))),
        v if v < 10_000.0 => format!("{} s", trimmed(&format!("{value:.1}"))),
        _ => format!("{} s", whole(value)),
    }
}

/// Decimals without zeros at their end.
pub(super) fn trimmed(text: &str) -> &str {
    text.trim_end_matches('0').trim_end_matches('.')
}

/// A ratio: `2.43 ×`.
pub fn times(value: f64) -> String {
    format!("{value:.2} ×")
}

/// A share of 1 in per cent: `47 %`.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// `1 restart`, `2 restarts`.
pub fn count(n: u64, thing: &str) -> String {
    format!("{} {thing}{}", thousands(n), if n == 1 { "" } else { "s" })
}

/// A count with its thousands apart.
#[allow(clippy::cast_precision_loss)] // counts far below 2^52
pub fn thousands(n: u64) -> String {
    whole(n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let all = [0.0, 999.4, 18352.0, -1234.0, -0.2, 1e18].map(whole);
        assert_eq!(all, ["0", "999", "18,352", "-1,234", "0", "1.0e18"]);
        let all = [0.0, 0.35, 1.52, 90.0, 458.8, 20_000.0, f64::NAN].map(secs);
        assert_eq!(
            all,
            [
                "0 s", "350 ms", "1.52 s", "90 s", "458.8 s", "20,000 s", "?"
            ]
        );
        assert_eq!(count(1, "restart"), "1 restart");
        assert_eq!(count(1200, "restart"), "1,200 restarts");
    }
}
