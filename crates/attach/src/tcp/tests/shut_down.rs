//! A controller that is shut down says so when what the drive has acknowledged is durable, and not before.

use nvme::fabrics::{Property, PropertyGet, PropertySet, Sgl, state};

use super::hostile::{NONE, queue, target};
use super::made::{capsule, pdus, sent};
use crate::tcp::message::{Order, Told};
use crate::tcp::target::Target;

/// CC of a controller that is enabled and has SHN 01b.
const SHUT_DOWN: u64 = 0x0046_4001;

fn set(target: &mut Target, key: usize, value: u64) {
    let mut entry = PropertySet::new(Property::Configuration, value).entry();
    Sgl::Transport { length: 0 }.encode_into(&mut entry);
    target.receive(key, &capsule(entry, 8, &[], NONE));
    sent(target, key);
}

/// SHST.
fn shutdown_status(target: &mut Target, key: usize) -> u32 {
    let mut entry = PropertyGet::new(Property::Status).entry();
    Sgl::Transport { length: 0 }.encode_into(&mut entry);
    target.receive(key, &capsule(entry, 9, &[], NONE));
    let bytes = sent(target, key);
    let (_, header, _) = pdus(&bytes, NONE).remove(0);
    let dword = header[8..].first_chunk().expect("a completion");
    u32::from_le_bytes(*dword) & state::SHUTDOWN
}

fn order(target: &mut Target) -> Option<(u16, u64)> {
    target
        .take_orders()
        .into_iter()
        .find_map(|order| match order {
            Order::ShutDown(controller, epoch) => Some((controller, epoch)),
            _ => None,
        })
}

#[test]
fn it_is_complete_when_the_drive_has_flushed() {
    let mut target = target();
    let admin = queue(&mut target, 0, NONE);
    assert_eq!(shutdown_status(&mut target, admin), 0);
    set(&mut target, admin, SHUT_DOWN);
    let (controller, epoch) = order(&mut target).expect("the drive flushes");
    assert_eq!(
        shutdown_status(&mut target, admin),
        state::SHUTDOWN_PROCESSING
    );
    set(&mut target, admin, SHUT_DOWN);
    assert_eq!(order(&mut target), None, "once");
    target.told(Told::ShutDown(controller, epoch + 1));
    assert_eq!(
        shutdown_status(&mut target, admin),
        state::SHUTDOWN_PROCESSING,
        "another's"
    );
    target.told(Told::ShutDown(controller, epoch));
    assert_eq!(
        shutdown_status(&mut target, admin),
        state::SHUTDOWN_COMPLETE
    );
}

#[test]
fn who_begins_anew_meanwhile_is_not_shut_down() {
    let mut target = target();
    let admin = queue(&mut target, 0, NONE);
    set(&mut target, admin, SHUT_DOWN);
    let (controller, epoch) = order(&mut target).expect("the drive flushes");
    set(&mut target, admin, 0x0046_0000);
    set(&mut target, admin, 0x0046_0001);
    target.told(Told::ShutDown(controller, epoch));
    assert_eq!(shutdown_status(&mut target, admin), 0);
}
