//! Random scripts of operations and faults, against a model: an operation that meets a fault gives that error and changes
//! nothing; every other does what it does on any file system.

use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::brittle::{Brittle, Fault, Op};
use crate::errors::{attempt, on_each_way};
use crate::mount::Mount;

const NAMES: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Debug)]
struct Step {
    name: usize,
    op: Op,
    fault: Option<i32>,
}

fn step() -> impl Strategy<Value = Step> {
    let op = prop::sample::select(vec![Op::Read, Op::Write, Op::Truncate, Op::Create, Op::Unlink, Op::Fsync]);
    let fault = prop::sample::select(vec![libc::EIO, libc::ENOSPC, libc::EDQUOT, libc::EROFS, libc::ESTALE]);
    (0..NAMES.len(), op, prop::option::weighted(0.4, fault)).prop_map(|(name, op, fault)| Step {
        name,
        op,
        fault,
    })
}

/// What the files have to contain.
type Model = BTreeMap<&'static str, Vec<u8>>;

/// What the step has to give; the model follows it.
fn expected(model: &mut Model, step: &Step) -> Result<(), Option<i32>> {
    let name = NAMES[step.name];
    match (model.contains_key(name), step.op) {
        (true, Op::Create) => return Err(Some(libc::EEXIST)),
        (false, op) if op != Op::Create => return Err(Some(libc::ENOENT)),
        _ => {}
    }
    if step.fault.is_some() {
        return Err(step.fault);
    }
    let content = model.entry(name).or_default();
    match step.op {
        Op::Write => {
            content.resize(content.len().max(2), 0);
            content[..2].copy_from_slice(b"xy");
        }
        Op::Truncate => content.resize(3, 0),
        Op::Unlink => drop(model.remove(name)),
        _ => {}
    }
    Ok(())
}

fn run(way: &str, source: &Brittle, mount: &Mount, script: &[Step]) {
    let mut model = Model::new();
    for name in NAMES {
        source.put(name, name.as_bytes());
        model.insert(name, name.into());
    }
    for step in script {
        let name = NAMES[step.name];
        if let Some(number) = step.fault {
            source.break_down(name, step.op, Fault::Error(number));
        }
        let told = attempt(step.op, &mount.join(name));
        source.mend();
        let wanted = expected(&mut model, step);
        // What is in memory is read without asking the source.
        let in_memory = step.op == Op::Read && model.contains_key(name) && told == Ok(());
        assert!(told == wanted || in_memory, "{way}: {told:?}, not {wanted:?}: {step:?} of {script:?}");
        for name in NAMES {
            assert_eq!(
                fs::read(mount.join(name)).ok(),
                model.get(name).cloned(),
                "{way}: {name} after {step:?}"
            );
        }
    }
}

#[test]
fn any_script_of_operations_and_faults_goes_as_the_model_says() {
    on_each_way(&NAMES, |way, source, mount| {
        let config = Config { cases: 16, failure_persistence: None, ..Config::default() };
        let dice = TestRng::from_seed(RngAlgorithm::ChaCha, &[11; 32]);
        let scripts = prop::collection::vec(step(), 1..30);
        let done = TestRunner::new_with_rng(config, dice).run(&scripts, |script| {
            run(way, source, mount, &script);
            Ok(())
        });
        done.unwrap();
    });
}
