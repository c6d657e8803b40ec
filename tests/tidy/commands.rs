//! The reference page of commands is what the table of commands says. `BITLINE_BLESS=1` writes it anew.

use std::fmt::Write;

use nvme::command::{Field, Row, commands, effect};
use nvme::{CommandSet, DataTransfer};

use crate::tree::root;

const PAGE: &str = "docs/reference/commands.md";

const HEAD: &str = "\
# Commands

What the drive understands, by command set and opcode. This page is made from the table in
`crates/nvme/src/command`, from which entries are decoded, too; do not edit it. \"Base\" is the NVM Express Base
Specification 2.1, \"NVM\" the NVM Command Set Specification 1.1.

CDW3 of any I/O command of the NVM command set but Simple Lookup, which has its mask there, is the priority that the application gives it: `A` of
TH-iSSD 3.3, Equation 1, which counts where `schedule.policy` is `priority_aware` ([model](../model.md#ranks)).
";

#[test]
fn the_page_of_commands_is_current() {
    let (path, wanted) = (root().join(PAGE), page());
    if std::env::var_os("BITLINE_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder to write");
        std::fs::write(&path, &wanted).expect("a page to write");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let same = found == wanted;
    assert!(
        same,
        "{PAGE} is not what the table says; run `BITLINE_BLESS=1 cargo test -p bitline-tests --test tidy commands`"
    );
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for set in CommandSet::ALL {
        page += match set {
            CommandSet::Admin => "\n## Admin commands\n",
            CommandSet::Nvm => {
                "\n## I/O commands of the NVM command set\n\nCommand set identifier (CSI) 00h. From 80h on they are the \
                 vendor's.\n"
            }
            CommandSet::Memory => {
                "\n## I/O commands of memory namespaces\n\nCommand set identifier (CSI) 03h: Subsystem Local Memory (\"SLM\").\n"
            }
            CommandSet::Compute => {
                "\n## I/O commands of compute namespaces\n\nCommand set identifier (CSI) 04h: Computational Programs (\"CP\").\n"
            }
        };
        page +=
            "\n| opcode | command | data | effects | defined in |\n| -- | -- | -- | -- | -- |\n";
        let mut rows: Vec<&Row> = commands().filter(|row| row.set == set).collect();
        rows.sort_by_key(|row| row.opcode);
        for row in &rows {
            line(&mut page, row);
        }
        for row in rows.iter().filter(|row| !row.fields.is_empty()) {
            write!(page, "\n### {}\n\n", row.name).expect("a string grows");
            page += "| field | bits | what it says |\n| -- | -- | -- |\n";
            for field in row.fields {
                let (name, meaning) = (field.name, field.meaning);
                writeln!(page, "| {name} | {} | {meaning} |", bits(field)).expect("a string grows");
            }
        }
    }
    page
}

fn line(page: &mut String, row: &Row) {
    let data = match row.direction() {
        DataTransfer::None => "",
        DataTransfer::HostToController => "to the drive",
        DataTransfer::ControllerToHost => "to the host",
        DataTransfer::Bidirectional => "both ways",
    };
    let says = [
        (effect::CHANGES_BLOCKS, "changes blocks"),
        (effect::CHANGES_NAMESPACE, "changes a namespace"),
        (effect::ALONE_IN_NAMESPACE, "alone in its namespace"),
        (effect::ALONE, "alone in the drive"),
    ];
    let effects = says.iter().filter(|(bit, _)| row.effects & bit != 0);
    let effects: Vec<_> = effects.map(|(_, says)| *says).collect();
    let (opcode, name, effects, source) = (row.opcode, row.name, effects.join(", "), row.source);
    writeln!(
        page,
        "| {opcode:02X}h | {name} | {data} | {effects} | {source} |"
    )
    .expect("a string grows");
}

/// Where a field lies, as the standard writes it.
fn bits(field: &Field) -> String {
    let Field {
        dword, low, bits, ..
    } = field;
    let last = low + bits - 1;
    match (low, last) {
        (0, 31) => format!("CDW{dword}"),
        (0, 63) => format!("CDW{dword}, CDW{}", dword + 1),
        (low, last) if *low == last => format!("CDW{dword} bit {low}"),
        (low, last) => format!("CDW{dword} bits {last}:{low}"),
    }
}

#[test]
fn the_page_names_every_command() {
    let page = page();
    for row in commands() {
        assert!(
            page.contains(&format!("| {:02X}h | {} |", row.opcode, row.name)),
            "{}",
            row.name
        );
    }
}
