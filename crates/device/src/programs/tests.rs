//! The table of programs: what may follow what.

use nvme::{NamespaceId, Status};

use super::record::Chunk;
use super::table::Table;
use super::{ProgramId, facts};

const ID: ProgramId = ProgramId {
    namespace: NamespaceId::new(3),
    index: 5,
};

fn chunk(offset: u32, program_bytes: u32) -> Chunk {
    Chunk {
        program_type: nvme::command::WEB_ASSEMBLY,
        persistent: true,
        program_bytes,
        identifier: 77,
        offset,
    }
}

#[test]
fn chunks_follow_one_another() {
    let mut table = Table::default();
    let gap = table.take_chunk(ID, &chunk(2, 6), &[1, 2]);
    assert_eq!(gap, Err(Status::INVALID_FIELD), "there is no first one");
    assert_eq!(table.take_chunk(ID, &chunk(0, 6), &[1, 2]), Ok(false));
    for wrong in [chunk(3, 6), chunk(1, 6), chunk(2, 7)] {
        let refused = table.take_chunk(ID, &wrong, &[3, 4]);
        assert_eq!(refused, Err(Status::INVALID_FIELD), "{wrong:?}");
    }
    let beyond = table.take_chunk(ID, &chunk(2, 6), &[0; 5]);
    assert_eq!(beyond, Err(Status::INVALID_FIELD));
    assert_eq!(
        table.take_chunk(ID, &chunk(2, 6), &[]),
        Err(Status::INVALID_FIELD)
    );
    assert_eq!(
        table.loaded_module(ID),
        Err(Status::NO_PROGRAM),
        "not whole"
    );
    assert_eq!(table.take_chunk(ID, &chunk(2, 6), &[3, 4]), Ok(false));
    assert_eq!(table.take_chunk(ID, &chunk(4, 6), &[5, 6]), Ok(true));
    assert_eq!(
        table.loaded_module(ID),
        Err(Status::PROGRAM_IN_USE),
        "being kept"
    );
    table.loaded(ID);
    assert_eq!(table.loaded_module(ID), Ok(&[1, 2, 3, 4, 5, 6][..]));
    let taken = table.take_chunk(ID, &chunk(0, 6), &[1]);
    assert_eq!(taken, Err(Status::PROGRAM_IN_USE));
    assert_eq!(
        table.begin_run(ID, 0).err(),
        Some(Status::PROGRAM_NOT_ACTIVATED)
    );
    let leaving = table.begin_unload(ID).expect("it does not run");
    assert!(leaving.is_kept);
    table.remove(ID);
    assert_eq!(table.begin_unload(ID).err(), Some(Status::NO_PROGRAM));
}

#[test]
fn what_could_not_be_done_has_changed_nothing() {
    let mut table = Table::default();
    assert_eq!(table.take_chunk(ID, &chunk(0, 2), &[1, 2]), Ok(true));
    table.give_back(ID, &chunk(0, 2));
    assert_eq!(table.ids(ID.namespace), []);

    assert_eq!(table.take_chunk(ID, &chunk(0, 4), &[1, 2]), Ok(false));
    assert_eq!(table.take_chunk(ID, &chunk(2, 4), &[3, 4]), Ok(true));
    table.give_back(ID, &chunk(2, 4));
    assert_eq!(table.take_chunk(ID, &chunk(2, 4), &[5, 6]), Ok(true));
    table.loaded(ID);
    assert_eq!(table.loaded_module(ID), Ok(&[1, 2, 5, 6][..]));

    let leaving = table.begin_unload(ID).expect("it does not run");
    assert_eq!(table.loaded_module(ID), Err(Status::PROGRAM_IN_USE));
    table.stay(ID, leaving);
    assert_eq!(table.loaded_module(ID), Ok(&[1, 2, 5, 6][..]));
}

#[test]
fn loading_may_begin_anew() {
    let mut table = Table::default();
    assert_eq!(table.take_chunk(ID, &chunk(0, 6), &[1, 2]), Ok(false));
    assert_eq!(table.take_chunk(ID, &chunk(0, 3), &[7, 8, 9]), Ok(true));
    table.loaded(ID);
    assert_eq!(table.loaded_module(ID), Ok(&[7, 8, 9][..]));
    assert_eq!(table.bytes_of(ID.namespace), 3);
    assert_eq!(table.bytes_of(NamespaceId::new(2)), 0);
}

#[test]
fn facts_come_back() {
    let fact = facts::encode(&chunk(0, 3), &[7, 8, 9]);
    let found = facts::decode(facts::key(ID).key, &fact);
    assert_eq!(found, Some((ID, chunk(0, 3), vec![7, 8, 9])));
    assert_eq!(facts::decode(0, &fact[..9]), None, "cut short");
}
