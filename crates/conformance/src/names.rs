//! Removes names and time stamps from texts, so that two plays of a scenario can be compared word by word.
//!
//! In: a text that an extender wrote, and the play's own names. Out: the text that any other play would have.

/// Names of one play.
#[derive(Debug, Clone)]
pub struct Names {
    prefix: String,
    /// Nodes by their order of use: real name, shown name.
    nodes: Vec<(String, String)>,
}

/// Patterns that differ from play to play (`x`: a hexadecimal digit, `d`: a digit), and their replacements.
const STAMPS: [(&str, &str); 4] = [
    ("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "UID"),
    ("dddd-dd-ddTdd:dd:ddZ", "TIME"),
    ("dddd-dd-dd dd:dd:dd", "TIME"),
    ("127.0.0.1:ddddd", "ADDRESS"),
];

/// How an explanation begins whose words are each program's own. The explanation is left out: the error must be the same, but
/// not its explanation.
const EXPLANATIONS: [&str; 2] = [
    "invalid hami.io/device-scoring-weights annotation",
    "parsing time",
];

impl Names {
    /// The names of the play with this number.
    #[must_use]
    pub fn new(play: usize) -> Self {
        Self {
            prefix: format!("p{play}-"),
            nodes: Vec::new(),
        }
    }

    /// A scenario's text with the play's names in it.
    #[must_use]
    pub fn real(&self, text: &str) -> String {
        text.replace('@', &self.prefix)
    }

    /// The play's namespace.
    #[must_use]
    pub fn namespace(&self) -> String {
        self.real("@ns")
    }

    /// A node by its letter.
    #[must_use]
    pub fn node(&self, letter: &str) -> String {
        format!("{}{letter}", self.prefix)
    }

    /// `namespace/name` of a pod.
    #[must_use]
    pub fn pod(&self, name: &str) -> String {
        format!("{}/{name}", self.namespace())
    }

    /// Names nodes by the order of their first use. Those never used have the same name.
    pub fn number_nodes(&mut self, used: &[String], all: &[String]) {
        let mut order: Vec<&String> = Vec::new();
        for node in used.iter().filter(|node| all.contains(node)) {
            if !order.contains(&node) {
                order.push(node);
            }
        }
        self.nodes = all
            .iter()
            .map(|node| {
                let place = order.iter().position(|used| *used == node);
                let shown = place.map_or("node-unused".to_owned(), |n| format!("node-{}", n + 1));
                (node.clone(), shown)
            })
            .collect();
    }

    /// A text without what belongs to one play only. Lists in parentheses are sorted, since a real HAMi writes them in the
    /// order in which its goroutines end.
    #[must_use]
    pub fn plain(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (real, shown) in &self.nodes {
            text = text.replace(real.as_str(), shown);
        }
        text = text.replace(&self.prefix, "");
        for (shape, name) in STAMPS {
            text = mask(&text, shape, name);
        }
        for begin in EXPLANATIONS {
            text = without_explanation(&text, begin);
        }
        sort_lists(&text)
    }
}

/// Replaces every match of a pattern by a name.
fn mask(text: &str, shape: &str, name: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let shape: Vec<char> = shape.chars().collect();
    let fits = |at: &[char]| {
        at.len() >= shape.len()
            && at.iter().zip(&shape).all(|(have, want)| match want {
                'd' => have.is_ascii_digit(),
                'x' => have.is_ascii_hexdigit(),
                other => have == other,
            })
    };
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        if fits(&chars[at..]) {
            masked.push_str(name);
            at += shape.len();
        } else {
            masked.push(chars[at]);
            at += 1;
        }
    }
    masked
}

/// Cuts what follows the quoted value after `begin`, up to ` for pod`, with which HAMi ends such an error.
fn without_explanation(text: &str, begin: &str) -> String {
    let Some(at) = text.find(begin) else {
        return text.to_owned();
    };
    let after = at + begin.len();
    let value = text[after..]
        .match_indices('"')
        .nth(1)
        .map_or(after, |(end, _)| after + end + 1);
    let rest = text[value..]
        .find(" for pod ")
        .map_or("", |end| &text[value + end..]);
    format!("{} …{rest}", &text[..value])
}

/// Sorts the entries of each innermost list in parentheses.
fn sort_lists(text: &str) -> String {
    let mut sorted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('(') {
        sorted.push_str(before);
        sorted.push('(');
        let end = after.find(['(', ')']);
        match end {
            Some(end) if after[end..].starts_with(')') => {
                let mut entries: Vec<&str> = after[..end].split(',').collect();
                entries.sort_unstable();
                sorted.push_str(&entries.join(","));
                rest = &after[end..];
            }
            _ => rest = after,
        }
    }
    sorted.push_str(rest);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_plays_of_the_same_thing_read_the_same() {
        let (first, mut second) = (Names::new(7), Names::new(12));
        let said = "find p7-b: p7-ns,x at 2026-01-02T03:04:05Z uid 0e1f2a3b-0000-4000-8000-0123456789ab (p7-b:0.00,p7-a:1.00)";
        assert_eq!(
            first.plain(said),
            "find b: ns,x at TIME uid UID (a:1.00,b:0.00)"
        );
        second.number_nodes(&["p12-b".into()], &["p12-a".into(), "p12-b".into()]);
        assert_eq!(second.plain("p12-b,p12-a"), "node-1,node-unused");
        assert_eq!(second.real("GPU-@a-3"), "GPU-p12-a-3");
    }

    #[test]
    fn explanations_are_cut_and_what_is_wrong_stays() {
        let names = Names::new(1);
        let said = |why: &str| {
            names.plain(&format!(
                "calcScore failed invalid hami.io/device-scoring-weights annotation \"x\": {why} for pod p"
            ))
        };
        assert_eq!(said("no weight"), said("expected weights"));
        assert!(said("no").contains("\"x\" … for pod p"));
        assert_eq!(
            names.plain("parsing time \"soon\" as \"2006\": bad"),
            "parsing time \"soon\" …"
        );
        assert_eq!(names.plain("parsing time"), "parsing time …");
    }

    #[test]
    fn lists_are_sorted_wherever_they_stand_and_torn_ones_are_left_alone() {
        assert_eq!(sort_lists("x(c,a) y(b)"), "x(a,c) y(b)");
        assert_eq!(sort_lists("x(b,(d,c)a"), "x(b,(c,d)a");
        assert_eq!(sort_lists("no ) list ("), "no ) list (");
    }
}
