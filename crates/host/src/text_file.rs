//! Reads a text file that a user named. Refuses pipes, devices and files that are too large.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The text of a regular file of at most this many MiB.
///
/// # Errors
/// Says in words why it cannot be read.
pub fn read(path: &Path, most_mib: u64) -> Result<String, String> {
    let io = |error: std::io::Error| error.to_string();
    // Opening a pipe that nobody writes to would wait for ever, and a device may never end.
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let most = most_mib << 20;
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(most + 1).read_to_end(&mut bytes))
        .map_err(io)?;
    if bytes.len() as u64 > most {
        return Err(format!("it is larger than {most_mib} MiB"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        format!("it is not text (byte {valid} is not UTF-8)")
    })?;
    if text.contains('\0') {
        return Err("it is not text (it has a NUL byte)".to_owned());
    }
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    Ok(text)
}
