//! Modules that were well, and of which bytes were changed or lost: each is refused, or runs within its bounds.

use super::*;

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((bits ^ (bits >> 31)) % limit as u64) as usize
    }
}

/// A module with something of everything.
fn valid() -> Vec<u8> {
    let main = r#"
        (drop (call $submit_read (i32.const 0) (i32.const 1000) (i32.const 300) (i64.const 77)))
        (local.set $i (i32.const 100))
        (loop $again (br_if $again (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
        (drop (call $wait (i32.const 0)))
        (drop (call $file_write (i32.const 0) (i32.const 1000) (i32.const 300) (i64.const 5)))
        (f64.store (i32.const 8) (f64.div (f64.const 0) (f64.const 0)))
        (v128.store (i32.const 16) (i32x4.add (v128.load (i32.const 1000)) (v128.const i32x4 1 2 3 4)))
        (call_indirect (param i32) (i32.const 3) (i32.const 0))
        (memory.copy (i32.const 2000) (i32.const 0) (i32.const 100))
        (drop (memory.grow (global.get $pages)))
        (drop (call $put_ret (i32.const 8) (i32.const 8)))
        (drop (call $log (i32.const 0) (i32.const 5)))
        (i32.const 0)"#;
    let more = "(global $pages (mut i32) (i32.const 1)) (table 1 funcref) (elem (i32.const 0) $twice)
        (func $twice (param i32) (global.set $pages (i32.mul (local.get 0) (i32.const 2)))) (func $main";
    wat::parse_str(task("hello", main).replace("(func $main", more)).expect("a module")
}

/// Whether the module was run.
fn live(rig: &Rig, module: &[u8]) -> bool {
    let Ok(program) = rig.tasks.load(module) else {
        return false;
    };
    let files = Rc::new(InMemory::new(rig, 10));
    let over = rig.begin(&program, files, origin());
    rig.simulation.run();
    let run = over.run();
    assert!(
        run.cycles <= 1_000_000 && run.memory_bytes <= 1 << 18,
        "{run:?}"
    );
    assert_eq!(rig.tasks.room.available(), 1 << 20);
    true
}

#[test]
fn a_module_that_ends_early_is_refused() {
    let rig = Rig::new(&config(), 1);
    let module = valid();
    assert!(live(&rig, &module));
    // The names of functions come last, and are not needed.
    let needed = (0..module.len()).filter(|&bytes| live(&rig, &module[..bytes]));
    let least = needed.min().unwrap_or(module.len());
    assert!(least > module.len() / 2, "{least} of {}", module.len());
}

#[test]
fn a_module_with_other_bits_is_refused_or_runs_within_its_bounds() {
    let rig = Rig::new(&config(), 1);
    let (module, mut random, mut ran) = (valid(), Random(14), 0);
    for _ in 0..600 {
        let mut changed = module.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(changed.len());
            changed[at] ^= 1 << random.below(8);
        }
        ran += usize::from(live(&rig, &changed));
    }
    assert!((60..540).contains(&ran), "{ran} of 600 ran");
}
