//! Kubernetes quantities as whole numbers, the way HAMi reads them.

/// The quantity's value; `None` if it is not a whole number (`0.5`, `100m`) or is too large.
pub fn whole(text: &str) -> Option<i64> {
    let text = text.trim();
    let suffix_at = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-')))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(suffix_at);
    let negative = number.starts_with('-');
    let (whole, fraction) = number
        .trim_start_matches(['+', '-'])
        .split_once('.')
        .unwrap_or((number.trim_start_matches(['+', '-']), ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let fraction_digits = i32::try_from(fraction.len()).ok()?;
    let decimal = |exponent: i32| {
        let scale = exponent - fraction_digits;
        if digits == 0 {
            return Some(0);
        }
        // HAMi takes nothing whose written form goes below one, even if its value is whole.
        digits.checked_mul(10_i128.checked_pow(u32::try_from(scale).ok()?)?)
    };
    let binary = |power: u32| {
        let scaled = digits.checked_mul(1024_i128.checked_pow(power)?)?;
        let divisor = 10_i128.checked_pow(u32::try_from(fraction_digits).ok()?)?;
        (scaled % divisor == 0).then_some(scaled / divisor)
    };
    let value = match suffix {
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "m" => decimal(-3),
        "u" => decimal(-6),
        "n" => decimal(-9),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        exponent => decimal(exponent.strip_prefix(['e', 'E'])?.parse().ok()?),
    }?;
    i64::try_from(if negative { -value } else { value }).ok()
}

#[cfg(test)]
mod tests {
    use super::whole;
    use proptest::prelude::*;

    #[test]
    fn reads_what_a_manifest_may_say() {
        for (text, value) in [
            ("8", Some(8)),
            ("2456", Some(2456)),
            ("2k", Some(2000)),
            ("1.5k", Some(1500)),
            ("2Ki", Some(2048)),
            ("1e3", Some(1000)),
            ("-3", Some(-3)),
            ("0", Some(0)),
            ("0.5", None),
            ("100m", None),
            ("", None),
            ("lots", None),
            ("9999999999999999999", None),
        ] {
            assert_eq!(whole(text), value, "{text}");
        }
    }

    proptest! {
        #[test]
        fn plain_numbers_survive(n in any::<i64>()) {
            prop_assert_eq!(whole(&n.to_string()), Some(n));
        }

        #[test]
        fn nothing_panics(text in "\\PC*") {
            let _ = whole(&text);
        }
    }
}
