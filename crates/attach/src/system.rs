//! What is mounted, and which loop device has which file, as the kernel tells it: without a look into what is mounted, which
//! would wait for whoever serves it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Something that is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountEntry {
    /// The number of its device, major and minor, with a colon between.
    pub(crate) number: String,
    /// Where.
    pub(crate) at: PathBuf,
    /// Its file system.
    pub(crate) kind: String,
    /// What it is on: a device, or a name.
    pub(crate) source: PathBuf,
    /// Options of the mount and of its file system.
    pub(crate) options: Vec<String>,
}

/// Everything that is mounted, in the order in which it was.
pub(crate) fn mounted() -> io::Result<Vec<MountEntry>> {
    let table = fs::read("/proc/self/mountinfo")?;
    let lines = table.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(mounted_by).collect())
}

/// What is mounted in a folder, of several what was last; none if nothing is. The folder's name is as the kernel has it.
pub(crate) fn at(folder: &Path) -> io::Result<Option<MountEntry>> {
    Ok(mounted()?.into_iter().rfind(|entry| entry.at == folder))
}

/// What a line of mountinfo says (proc(5)).
fn mounted_by(line: &[u8]) -> Option<MountEntry> {
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let dash = words.iter().position(|word| *word == b"-")?;
    let text = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
    let of_mount = text(words.get(5)?);
    let of_file_system = words.get(dash + 3).map(|word| text(word));
    let options = of_mount
        .split(',')
        .chain(of_file_system.iter().flat_map(|all| all.split(',')));
    Some(MountEntry {
        options: options.map(str::to_owned).collect(),
        number: text(words.get(2)?),
        at: unescaped(words.get(4)?),
        kind: text(words.get(dash + 1)?),
        source: unescaped(words.get(dash + 2)?),
    })
}

/// Blanks and the like are written as a backslash and three octal digits.
fn unescaped(word: &[u8]) -> PathBuf {
    let (mut bytes, mut rest) = (Vec::new(), word);
    while let Some((first, after)) = rest.split_first() {
        let digits = after
            .get(..3)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match escaped {
            Some(byte) if *first == b'\\' => {
                bytes.push(byte);
                rest = &after[3..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Loop devices whose file is `file`.
pub(crate) fn loops_of(file: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/sys/block")? {
        let entry = entry?;
        let backing = fs::read(entry.path().join("loop/backing_file"));
        let Ok(backing) = backing else {
            // No loop device, or one without a file.
            continue;
        };
        let backing = backing.strip_suffix(b"\n").unwrap_or(&backing);
        if backing == file.as_os_str().as_bytes() {
            found.push(Path::new("/dev").join(entry.file_name()));
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_mountinfo_are_read() {
        let line =
            b"36 35 98:7 / /mnt/a\\040b rw,noatime master:1 - ext3 /dev/loop1 rw,errors=continue";
        let found = mounted_by(line).expect("a line");
        assert_eq!(found.at, Path::new("/mnt/a b"));
        assert_eq!(found.kind, "ext3");
        assert_eq!(found.source, Path::new("/dev/loop1"));
        assert_eq!(found.number, "98:7");
        assert_eq!(
            found.options,
            ["rw", "noatime", "rw", "errors=continue"].map(str::to_owned)
        );
        assert_eq!(mounted_by(b""), None);
        let all = mounted().expect("it is there");
        assert!(all.iter().any(|mounted| mounted.at == Path::new("/")));
    }
}
