//! What a server has set up, on disk: the next start undoes what a crash left.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
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
    #[expect(dead_code, reason = "the lock lasts as long as it is open")]
    file: File,
    path: PathBuf,
}

/// How names of records end.
const SUFFIX: &str = "attach.json";

/// The folder with the records of this user. What they say is done with this user's rights, so nobody else may write there.
pub(super) fn folder() -> PathBuf {
    let uid = rustix::process::getuid();
    let told = std::env::var_os("XDG_RUNTIME_DIR").filter(|base| !base.is_empty());
    // Who becomes root by sudo may bring a folder of another user along.
    let told = told.map(PathBuf::from).filter(|base| {
        let is_roots = |base: &Metadata| base.uid() == 0;
        !uid.is_root() || fs::metadata(base).is_ok_and(|base| is_roots(&base))
    });
    let base = told.unwrap_or_else(|| match uid.is_root() {
        true => PathBuf::from("/run"),
        false => std::env::temp_dir(),
    });
    match base == std::env::temp_dir() {
        true => base.join(format!("bitline-{}", uid.as_raw())),
        false => base.join("bitline"),
    }
}

/// Makes the folder, unless it is there and no other user may write there.
pub(super) fn prepare(folder: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let facts = fs::symlink_metadata(folder)?;
    let why = match () {
        () if !facts.is_dir() => "it is no folder",
        () if facts.uid() != rustix::process::getuid().as_raw() => "it belongs to another user",
        () if facts.mode() & 0o022 != 0 => "other users may write there (chmod go-w)",
        () => return Ok(()),
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

impl Record {
    /// Writes a new one into `folder`.
    pub(super) fn new(folder: &Path, set_up: &SetUp) -> io::Result<Record> {
        // Another server that starts must not find it before it is locked.
        let (temporary, file) = numbered(folder, "attach.new", |path| {
            let mut open = OpenOptions::new();
            open.read(true).write(true).create_new(true).mode(0o600);
            open.open(path)
        })?;
        let named = file.try_lock().map_err(io::Error::from).and_then(|()| {
            write(&file, set_up)?;
            numbered(folder, SUFFIX, |path| fs::hard_link(&temporary, path))
        });
        fs::remove_file(&temporary)?;
        let (path, ()) = named?;
        Ok(Record { file, path })
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

fn write(mut file: &File, set_up: &SetUp) -> io::Result<()> {
    serde_json::to_writer(file, set_up)?;
    file.flush()
}

/// Has something made by a name of this process that is not taken.
fn numbered<T>(
    folder: &Path,
    suffix: &str,
    make: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(PathBuf, T)> {
    let name = format!("{}.{suffix}", std::process::id());
    for number in 0..1000 {
        let path = match number {
            0 => folder.join(&name),
            _ => folder.join(format!("{number}-{name}")),
        };
        match make(&path) {
            Ok(made) => return Ok((path, made)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("a thousand records of one process"))
}

/// The control socket of the server in whose record an image is; none where there is no such record that can be read, and of
/// servers that are gone.
pub(super) fn control_of(folder: &Path, image: &Path) -> Option<PathBuf> {
    fs::read_dir(folder).ok()?.find_map(|entry| {
        let path = entry.ok()?.path();
        let mut file = opened(&path)?;
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        let set_up: SetUp = serde_json::from_str(&text).ok()?;
        let is_its = set_up.image?.canonicalize().ok()? == image && file.try_lock_shared().is_err();
        Some(path.with_extension("sock")).filter(|socket| is_its && socket.exists())
    })
}

/// A record, if it is one: its server may just have removed it, or it is another user's.
fn opened(path: &Path) -> Option<File> {
    let name = path.file_name()?.to_str()?;
    let is_record = name.ends_with(&format!(".{SUFFIX}"));
    let mut open = OpenOptions::new();
    open.read(true).write(true);
    open.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    is_record.then(|| open.open(path).ok())?
}

/// Records in `folder` whose servers are gone, each with what was set up; none where it was not written to its end.
pub(super) fn stale(folder: &Path) -> io::Result<Vec<(Record, Option<SetUp>)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(mut file) = opened(&path) else {
            continue;
        };
        // Its server lives and has it locked.
        if file.try_lock().is_err() {
            continue;
        }
        // Or it has ended, and undone everything, since the folder was read.
        if file.metadata()?.nlink() == 0 {
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

    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::thread;

    /// A new folder.
    fn new_folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("bitline-{name}-{}", std::process::id()));
        prepare(&folder).expect("a folder");
        folder
    }

    #[test]
    fn a_folder_is_this_users_alone() {
        let folder = new_folder("records");
        let mode = |mode| fs::set_permissions(&folder, PermissionsExt::from_mode(mode));
        assert_eq!(
            fs::metadata(&folder).expect("it is there").mode() & 0o777,
            0o700
        );
        prepare(&folder).expect("it is there");
        mode(0o777).expect("it is ours");
        let refused = prepare(&folder).expect_err("anybody may write there");
        assert!(refused.to_string().contains("other users"), "{refused}");
        mode(0o755).expect("it is ours");
        prepare(&folder).expect("others may read there");
        if rustix::process::getuid().is_root() {
            std::os::unix::fs::chown(&folder, Some(65534), None).expect("we are root");
            let refused = prepare(&folder).expect_err("it is another's");
            assert!(refused.to_string().contains("another user"), "{refused}");
        }
        let link = folder.with_extension("link");
        symlink("/run", &link).expect("a link");
        assert!(prepare(&link).is_err());
        fs::remove_file(link).expect("it is there");
        fs::remove_dir(folder).expect("it is empty");
    }

    /// What a link leads to is not taken for a record.
    #[test]
    fn links_are_no_records() {
        let folder = new_folder("links");
        let target = folder.join("target");
        fs::write(&target, "{}").expect("there is room");
        symlink(&target, folder.join("1.attach.json")).expect("a link");
        assert!(stale(&folder).expect("it is read").is_empty());
        fs::remove_dir_all(folder).expect("it is ours");
    }

    /// A server that starts does not take the record of one that starts at the same time for one that is left.
    #[test]
    fn a_record_is_locked_before_it_is_seen() {
        let folder = new_folder("starting");
        thread::scope(|scope| {
            let starting = scope.spawn(|| {
                for _ in 0..500 {
                    let record = Record::new(&folder, &SetUp::default()).expect("it is written");
                    record.remove().expect("it is there");
                }
            });
            while !starting.is_finished() {
                let found = stale(&folder).expect("it is read");
                assert!(found.is_empty(), "it was taken for one that is left");
            }
        });
        assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 0);
        fs::remove_dir(&folder).expect("it is empty");
    }

    #[test]
    fn a_record_is_stale_when_its_server_is_gone() {
        let folder = new_folder("record");
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
