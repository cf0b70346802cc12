//! Many readers and writers at once.

use std::fs;
use std::sync::Barrier;

use crate::mount::PATHS;
use crate::mount::scratch::Scratch;

fn content(number: usize) -> Vec<u8> {
    (0..40_000).map(|at| (at * 7 + number * 13) as u8).collect()
}

#[test]
fn sixty_four_readers_at_once_each_get_their_file() {
    const READERS: usize = 64;
    let contents: Vec<_> = (0..READERS).map(content).collect();
    for path in PATHS {
        let scratch = Scratch::new();
        for (number, content) in contents.iter().enumerate() {
            scratch.write(&format!("d{}/f{number}", number % 8), content);
        }
        let mount = scratch.mount(path).start();
        let start = Barrier::new(READERS);
        std::thread::scope(|scope| {
            for number in 0..READERS {
                let (mount, start, contents) = (&mount, &start, &contents);
                scope.spawn(move || {
                    start.wait();
                    for other in 0..READERS {
                        let number = (number + other) % READERS;
                        let read = fs::read(mount.join(format!("d{}/f{number}", number % 8))).unwrap();
                        assert!(read == contents[number], "file {number} on {path}");
                    }
                });
            }
        });
    }
}

#[test]
fn appends_of_many_are_all_there() {
    use std::io::Write;
    const WRITERS: usize = 8;
    const LINES: usize = 100;
    for path in PATHS {
        let scratch = Scratch::new();
        let below = scratch.write("log", "");
        let mount = scratch.mount(path).start();
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                // Half of them in the mount, half directly in the source.
                let place = if writer % 2 == 0 { mount.join("log") } else { below.clone() };
                scope.spawn(move || {
                    let mut log = fs::File::options().append(true).open(place).unwrap();
                    for line in 0..LINES {
                        log.write_all(format!("{writer} {line}\n").as_bytes()).unwrap();
                    }
                });
            }
        });
        let mut lines: Vec<String> = fs::read_to_string(&below).unwrap().lines().map(Into::into).collect();
        let mut expected: Vec<String> =
            (0..WRITERS).flat_map(|writer| (0..LINES).map(move |line| format!("{writer} {line}"))).collect();
        lines.sort();
        expected.sort();
        assert_eq!(lines, expected, "{path}");
    }
}
