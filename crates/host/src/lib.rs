//! What headroom reads of the host it runs on, and how it prints.

pub mod machine;
pub mod process;
pub mod terminal;
pub mod text_file;
pub mod usage;
