//! What a program or library needs to run: its loader and libraries. Only the headers are read, not the whole file.

use std::fs::File;
use std::path::Path;

use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, EM_AARCH64, EM_X86_64};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, ReadCache};

/// The needs of one ELF file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Path of the loader inside the image; none for a static program or a library.
    pub loader: Option<String>,
    /// Names of libraries, as the loader looks for them.
    pub libraries: Vec<String>,
    /// Folders of the file's own to look in first, `$ORIGIN` not yet replaced.
    pub folders: Vec<String>,
}

/// Reads the needs of the file.
///
/// # Errors
/// Why it is no program for this machine.
pub(super) fn needs(path: &Path) -> Result<Needs, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let cache = ReadCache::new(file);
    let elf = ElfFile64::<Endianness, _>::parse(&cache);
    let elf = elf.map_err(|_| "is no 64-bit ELF program".to_owned())?;
    let machine = elf.elf_header().e_machine(elf.endian());
    // Machines that this program does not know fit no image.
    let known = match std::env::consts::ARCH {
        "x86_64" => Some(EM_X86_64),
        "aarch64" => Some(EM_AARCH64),
        _ => None,
    };
    if Some(machine) != known {
        let problem = format!("is a program for another machine (ELF machine {machine})");
        return Err(problem);
    }
    read_needs(&elf).map_err(|e| format!("its ELF headers are damaged: {e}"))
}

fn read_needs<'a>(
    elf: &ElfFile64<'a, Endianness, &'a ReadCache<File>>,
) -> object::read::Result<Needs> {
    let mut needs = Needs::default();
    for segment in elf.elf_program_headers() {
        if let Some(loader) = segment.interpreter(elf.endian(), elf.data())? {
            needs.loader = Some(String::from_utf8_lossy(loader).into_owned());
        }
    }
    let table = elf.elf_dynamic_table()?;
    for entry in &table {
        let text = || Ok(String::from_utf8_lossy(table.string(entry)?).into_owned());
        match entry.tag {
            DT_NEEDED => needs.libraries.push(text()?),
            DT_RPATH | DT_RUNPATH => needs.folders.extend(text()?.split(':').map(str::to_owned)),
            _ => {}
        }
    }
    Ok(needs)
}
