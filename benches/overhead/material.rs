//! What the trials work on, generated: small text files, a C project, a big file.
//!
//! What must stay true: the same files every time, on every machine.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use augurfs::device::SplitMix;

/// Small files for walks.
pub(crate) const MANY: usize = 20_000;
/// Files in one directory.
const PER_DIRECTORY: usize = 100;
/// The C project: files to compile, headers, and how many of the headers each file includes.
const UNITS: usize = 40;
const HEADERS: usize = 60;
const FUNCTIONS: usize = 40;

/// The next of `draws` in `0..limit`.
pub(crate) fn below(draws: &mut SplitMix, limit: u64) -> u64 {
    draws.next() % limit.max(1)
}

/// The paths of `count` small files below `root`.
pub(crate) fn small_paths(root: &Path, count: usize) -> impl Iterator<Item = PathBuf> {
    (0..count).map(move |number| root.join(format!("d{:03}/f{number:05}.txt", number / PER_DIRECTORY)))
}

/// `count` text files of half a kilobyte to four.
pub(crate) fn small_files(root: &Path, count: usize) -> anyhow::Result<()> {
    let mut draws = SplitMix(count as u64);
    for path in small_paths(root, count) {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut text = String::new();
        let size = 512 + below(&mut draws, 3584) as usize;
        while text.len() < size {
            writeln!(text, "line {} of a file that nobody reads twice", below(&mut draws, 1_000_000))?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

/// A project whose every unit includes every header, with a Makefile that knows `all` and `clean`.
pub(crate) fn c_project(root: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(root.join("include"))?;
    let mut includes = String::new();
    for header in 0..HEADERS {
        writeln!(includes, "#include \"include/h{header}.h\"")?;
        fs::write(root.join(format!("include/h{header}.h")), header_text(header)?)?;
    }
    for unit in 0..UNITS {
        let mut text = includes.clone();
        for function in 0..FUNCTIONS {
            let header = (unit + function) % HEADERS;
            writeln!(
                text,
                "int u{unit}_{function}(int x) {{ struct s{header} s = {{ x, 2 }}; return i{header}(&s) + C{header}; }}"
            )?;
        }
        fs::write(root.join(format!("u{unit}.c")), text)?;
    }
    fs::write(root.join("main.c"), "int u0_0(int);\nint main(void) { return u0_0(0) == 0; }\n")?;
    let makefile = "OBJECTS := $(patsubst %.c,%.o,$(wildcard *.c))\nall: program\nprogram: $(OBJECTS)\n\t$(CC) -o $@ $^\n\
                    $(OBJECTS): $(wildcard include/*.h)\n%.o: %.c\n\t$(CC) -O1 -c -o $@ $<\nclean:\n\trm -f program *.o\n";
    Ok(fs::write(root.join("Makefile"), makefile)?)
}

fn header_text(header: usize) -> Result<String, std::fmt::Error> {
    let mut text = format!("#ifndef H{header}\n#define H{header}\n#define C{header} {header}\n");
    writeln!(text, "struct s{header} {{ int a, b; }};")?;
    writeln!(text, "static inline int i{header}(const struct s{header} *s) {{ return s->a + s->b; }}")?;
    for line in 0..50 {
        writeln!(text, "int declared_{header}_{line}(const struct s{header} *, long, const char *);")?;
    }
    text.push_str("#endif\n");
    Ok(text)
}

/// A file of `size` bytes, no two blocks of it alike.
pub(crate) fn big_file(path: &Path, size: u64) -> anyhow::Result<()> {
    let mut file = File::create(path)?;
    let mut chunk = vec![0x5a; 1 << 20];
    for start in (0..size).step_by(chunk.len()) {
        for (index, block) in chunk.chunks_mut(4096).enumerate() {
            block[..8].copy_from_slice(&(start + index as u64 * 4096).to_le_bytes());
        }
        file.write_all(&chunk[..chunk.len().min((size - start) as usize)])?;
    }
    Ok(file.sync_all()?)
}
