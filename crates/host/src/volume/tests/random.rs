//! Random changes against a map, the volume opened again now and then.

use proptest::prelude::*;

use super::oracle::{Oracle, Step, found, ids, imagine, make};
use super::{Random, fresh, open};
use crate::volume::VolumeError;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = any::<u64>().prop_map(|seed| Step::random(&mut Random(seed)));
    prop::collection::vec(step, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_volume_is_as_a_map_says(changes in prop::collection::vec((steps(), any::<bool>()), 1..40)) {
        let (drive, mut volume) = fresh();
        let mut oracle = Oracle::new();
        for (steps, reopen) in changes {
            let made = make(&steps, &mut volume);
            match (imagine(&steps, &oracle), made) {
                (Some(after), Ok(())) => oracle = after,
                // What the map does not know of: the volume is small.
                (_, Err(VolumeError::NoSpace { .. } | VolumeError::CatalogueFull { .. })) => {}
                (None, Err(_)) => {}
                (imagined, made) => prop_assert!(false, "{steps:?}: {made:?}, but {imagined:?}"),
            }
            prop_assert_eq!(&found(&volume), &oracle);
            let mut ids = ids(&volume);
            ids.sort_unstable();
            ids.dedup();
            prop_assert_eq!(ids.len(), oracle.len());
            if reopen {
                let (space, free) = (volume.space.clone(), volume.free_blocks());
                volume = open(&drive).expect("it was left whole");
                prop_assert_eq!(&found(&volume), &oracle);
                prop_assert_eq!((&volume.space, volume.free_blocks()), (&space, free));
            }
        }
    }
}
