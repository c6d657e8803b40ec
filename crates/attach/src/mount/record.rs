//! What a server has set up, on disk: the next start undoes what a crash left.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What is set up for a drive, or about to be. All of it is looked for, for a crash may come between any two steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SetUp {
    /// The image, if the drive has one.
    pub(super) image: Option<PathBuf>,
    /// Where the drive's file is mounted.
    pub(super) folder: PathBuf,
    /// Whether that folder was made for it.
    pub(super) is_own_folder: bool,
    /// Where the file system on the drive is mounted, if it is to be.
    pub(super) mount: Option<PathBuf>,
}

/// A record, which is locked as long as its server lives.
pub(super) struct Record {
    file: File,
    path: PathBuf,
}

/// The folder with the records of this user.
pub(super) fn folder() -> io::Result<PathBuf> {
    let base = match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(base) if !base.is_empty() => PathBuf::from(base),
        _ if rustix::process::getuid().is_root() => PathBuf::from("/run"),
        _ => std::env::temp_dir(),
    };
    let uid = rustix::process::getuid().as_raw();
    let folder = match base == std::env::temp_dir() {
        true => base.join(format!("bitline-{uid}")),
        false => base.join("bitline"),
    };
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

impl Record {
    /// Writes a new one into `folder`.
    pub(super) fn new(folder: &Path, set_up: &SetUp) -> io::Result<Record> {
        let name = format!("{}.attach.json", std::process::id());
        let numbered = (0..1000).map(|number| match number {
            0 => folder.join(&name),
            _ => folder.join(format!("{number}-{name}")),
        });
        for path in numbered {
            let mut open = OpenOptions::new();
            match open.read(true).write(true).create_new(true).open(&path) {
                Ok(file) => {
                    file.try_lock()?;
                    let mut record = Record { file, path };
                    record.write(set_up)?;
                    return Ok(record);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("a thousand records of one process"))
    }

    fn write(&mut self, set_up: &SetUp) -> io::Result<()> {
        self.file.rewind()?;
        self.file.set_len(0)?;
        serde_json::to_writer(&self.file, set_up)?;
        self.file.flush()
    }

    /// Where processes of this user reach the drive, if they may.
    pub(super) fn socket(&self) -> PathBuf {
        self.path.with_extension("sock")
    }

    /// Removes it: everything is undone.
    pub(super) fn remove(self) -> io::Result<()> {
        match fs::remove_file(self.socket()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::remove_file(&self.path),
        }
    }
}

/// Records in `folder` whose servers are gone, each with what was set up; none where it was not written to its end.
pub(super) fn stale(folder: &Path) -> io::Result<Vec<(Record, Option<SetUp>)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_record = path
            .to_str()
            .is_some_and(|path| path.ends_with(".attach.json"));
        if !is_record {
            continue;
        }
        let Ok(mut file) = OpenOptions::new().read(true).write(true).open(&path) else {
            // Its server has just removed it, or it is another user's.
            continue;
        };
        // Its server lives and has it locked.
        if file.try_lock().is_err() {
            continue;
        }
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        found.push((Record { file, path }, serde_json::from_str(&text).ok()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_stale_when_its_server_is_gone() {
        let folder = std::env::temp_dir().join(format!("bitline-record-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let set_up = SetUp {
            folder: "/somewhere".into(),
            ..SetUp::default()
        };
        let record = Record::new(&folder, &set_up).expect("it is written");
        let other = Record::new(&folder, &set_up).expect("it has another name");
        assert!(stale(&folder).expect("it is read").is_empty());
        drop(record);
        let found = stale(&folder).expect("it is read");
        assert_eq!(found.len(), 1);
        for (record, found) in found {
            assert_eq!(found.as_ref(), Some(&set_up));
            record.remove().expect("it is there");
        }
        other.remove().expect("it is there");
        assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 0);
        fs::remove_dir(&folder).expect("it is empty");
    }
}
