//! Mistakes of the user: told in one line, exit code 2, nothing started.
//!
//! An error type says of itself whether it is one ([`UserError`]); where a command gives such an error up to `main`,
//! [`OrUsage::or_usage`] keeps what it says, and [`is_usage`] finds it again whatever was added on the way.

use std::error::Error;

/// An error that the user can mend.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Usage(Box<dyn Error + Send + Sync>);

impl Usage {
    /// Of an error, or of a text.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(error.into())
    }
}

/// An error that knows whether the user is at fault.
pub trait UserError: Error + Send + Sync + Sized + 'static {
    /// Whether this one is the user's to mend. Default: every one is.
    fn is_usage(&self) -> bool {
        true
    }
}

/// Results on their way out of a command.
pub trait OrUsage<T> {
    /// The same, with the user's mistakes marked as such.
    ///
    /// # Errors
    /// The error that was there.
    fn or_usage(self) -> anyhow::Result<T>;
}

impl<T, E: UserError> OrUsage<T> for Result<T, E> {
    fn or_usage(self) -> anyhow::Result<T> {
        self.map_err(|error| {
            if error.is_usage() {
                Usage::new(error).into()
            } else {
                error.into()
            }
        })
    }
}

/// Whether an error is about the user's input.
#[must_use]
pub fn is_usage(error: &anyhow::Error) -> bool {
    error.chain().any(<dyn Error>::is::<Usage>)
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use std::fmt;

    use super::*;
    use crate::terminal::in_one;

    #[derive(Debug)]
    struct Wrong(bool);

    impl fmt::Display for Wrong {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("--nodes 0: too few")
        }
    }

    impl Error for Wrong {}

    impl UserError for Wrong {
        fn is_usage(&self) -> bool {
            self.0
        }
    }

    #[test]
    fn an_error_says_whose_mistake_it_is_and_keeps_its_words() {
        for user in [true, false] {
            let result: Result<(), _> = Err(Wrong(user));
            let error = result.or_usage().context("reading options").unwrap_err();
            assert_eq!(is_usage(&error), user);
            assert_eq!(in_one(&error), "reading options: --nodes 0: too few");
        }
        assert!(is_usage(&Usage::new("a text").into()));
    }
}
