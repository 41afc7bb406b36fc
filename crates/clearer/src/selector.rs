//! Label selectors, in the syntax of `kubectl -l`.

use kube::core::{Expression, Selector};

/// Parses `a=b,c!=d,e,!f,g in (h,i),j notin (k)`.
///
/// # Errors
///
/// Says which part is not understood. An empty selector is refused, since it would select every node.
pub fn parse(text: &str) -> Result<Selector, String> {
    let expressions: Vec<Expression> = split(text)
        .into_iter()
        .map(|part| expression(part.trim()))
        .collect::<Result<_, _>>()?;
    if expressions.is_empty() {
        return Err("an empty selector would put every node in scope".into());
    }
    Ok(expressions.into_iter().collect())
}

/// Splits at commas outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_u32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() || !parts.is_empty() {
        parts.push(&text[start..]);
    }
    parts
}

fn expression(part: &str) -> Result<Expression, String> {
    let bad = || {
        format!(
            "{part:?} is not a label requirement; use key=value, key!=value, key, !key or key in (a,b)"
        )
    };
    let set = |list: &str| -> Option<std::collections::BTreeSet<String>> {
        let inner = list.trim().strip_prefix('(')?.strip_suffix(')')?;
        let values: std::collections::BTreeSet<String> =
            inner.split(',').map(|v| v.trim().to_owned()).collect();
        values.iter().all(|v| plain(v)).then_some(values)
    };
    let parsed = if let Some((key, list)) = part.split_once(" notin ") {
        set(list).map(|values| Expression::NotIn(key.trim().into(), values))
    } else if let Some((key, list)) = part.split_once(" in ") {
        set(list).map(|values| Expression::In(key.trim().into(), values))
    } else if let Some((key, value)) = part.split_once("!=") {
        plain(value.trim()).then(|| Expression::NotEqual(key.trim().into(), value.trim().into()))
    } else if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        plain(value.trim()).then(|| Expression::Equal(key.trim().into(), value.trim().into()))
    } else if let Some(key) = part.strip_prefix('!') {
        Some(Expression::DoesNotExist(key.trim().into()))
    } else {
        Some(Expression::Exists(part.into()))
    };
    let key_ok = |e: &Expression| match e {
        Expression::In(key, _)
        | Expression::NotIn(key, _)
        | Expression::Equal(key, _)
        | Expression::NotEqual(key, _)
        | Expression::Exists(key)
        | Expression::DoesNotExist(key) => !key.is_empty() && key.split('/').all(plain),
    };
    parsed.filter(key_ok).ok_or_else(bad)
}

/// The characters that Kubernetes allows in label values and the parts of keys.
fn plain(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kube::core::SelectorExt as _;

    use super::*;

    #[test]
    fn selects_what_kubectl_selects() {
        let labels = BTreeMap::from([
            ("gpu".to_owned(), "on".to_owned()),
            ("headroom.dev/group".to_owned(), "whole".to_owned()),
        ]);
        for (text, hit) in [
            ("gpu=on", true),
            ("gpu==on,headroom.dev/group in (small, whole)", true),
            ("gpu=off", false),
            ("gpu,!drained", true),
            ("headroom.dev/group notin (whole)", false),
            ("gpu!=on", false),
        ] {
            assert_eq!(parse(text).unwrap().matches(&labels), hit, "{text}");
        }
    }

    #[test]
    fn refuses_what_would_select_too_much_or_nothing_sensible() {
        for text in [
            "",
            " ",
            ",",
            "gpu=on,",
            "=on",
            "gpu = a b",
            "gpu in on",
            "a{b}",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
