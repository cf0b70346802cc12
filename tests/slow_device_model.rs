//! The device models, held to numbers from a separate program (Python, written from the
//! description alone) and to sums one can do by hand.

use augurfs::device::{Device, Head, Kind, Span, SplitMix, net_service, ssd_service};

const GIB: u64 = 1 << 30;
const MS: u64 = 1_000_000;

fn block(offset: u64) -> Span {
    Span { offset, len: 4096 }
}

/// Runs a device until it rests: (number, done at) in the order in which requests are done.
fn drain(device: &mut Device) -> Vec<(u64, u64)> {
    let mut done = Vec::new();
    while let Some(at) = device.next_done() {
        done.extend(device.finish(at).map(|number| (number, at)));
    }
    done
}

#[test]
fn the_generator_gives_the_published_sequence() {
    let mut draws = SplitMix(1);
    let first = [draws.next(), draws.next(), draws.next()];
    assert_eq!(first, [0x910a_2dec_8902_5cc1, 0xbeeb_8da1_658e_ec67, 0xf893_a2ee_fb32_555e]);
    assert!((0..1000).all(|_| (0.0..1.0).contains(&draws.unit())));
}

#[test]
fn the_head_takes_the_times_worked_out_elsewhere() {
    let mut head = Head::new(GIB, 1);
    let requests = [
        block(0),                               // where the head is: the transfer alone
        Span { offset: 4096, len: 128 * 1024 }, // still there
        block(200_000),                         // a small gap, waited out on the track
        block(GIB / 4),                         // half a full seek
        block(0),                               // and back
        block(256 * 1024 + 4096 - 1),           // the largest gap that may be waited out
        block(2 * (256 * 1024 + 4096)),         // one byte more is a seek
    ];
    let times = requests.map(|request| head.serve(request));
    assert_eq!(times, [27_307, 873_813, 459_520, 7_827_564, 7_828_057, 1_774_927, 8_238_746]);
}

#[test]
fn the_seed_decides_the_rotation() {
    assert_eq!(Head::new(GIB, 7).serve(block(100 * 4096)), 4_203_495);
    assert_eq!(Head::new(GIB, 42).serve(Span { offset: 500 << 20, len: 64 * 1024 }), 12_026_032);
}

#[test]
fn the_head_sweeps_upwards_and_starts_again_at_the_lowest() {
    let mut device = Device::new(Kind::Disk, GIB, 1);
    device.arrive(0, 1, block(500 << 20));
    // These come while the head is on its way to 1; it is then above 2 and 4.
    for (number, at) in [(2, 100 << 20), (3, 900 << 20), (4, 10 << 20), (5, 600 << 20)] {
        device.arrive(1, number, block(at));
    }
    let order: Vec<u64> = drain(&mut device).into_iter().map(|(number, _)| number).collect();
    assert_eq!(order, [1, 5, 3, 4, 2]);
}

#[test]
fn the_disk_serves_one_at_a_time() {
    let mut device = Device::new(Kind::Disk, GIB, 1);
    device.arrive(0, 1, block(0));
    device.arrive(0, 2, block(4096));
    assert_eq!(device.in_service(), 1);
    assert_eq!(drain(&mut device), [(1, 27_307), (2, 2 * 27_307)]);
}

#[test]
fn a_late_caller_does_not_slow_the_device() {
    let mut device = Device::new(Kind::Disk, GIB, 1);
    device.arrive(0, 1, block(0));
    device.arrive(0, 2, block(4096));
    // Both were done long ago, one right after the other.
    assert_eq!(device.finish(MS), Some(1));
    assert_eq!(device.finish(MS), Some(2));
    // But a request never begins before it has come.
    device.arrive(5 * MS, 3, block(8192));
    assert_eq!(device.finish(5 * MS), None);
    assert_eq!(drain(&mut device), [(3, 5 * MS + 27_307)]);
}

#[test]
fn the_network_takes_a_millisecond_and_the_transfer() {
    assert_eq!(net_service(0), MS);
    assert_eq!(net_service(4096), MS + 20_480);
    assert_eq!(net_service(200_000_000), 1001 * MS);
}

#[test]
fn sixty_four_go_over_the_network_together_and_the_next_waits() {
    let mut device = Device::new(Kind::Net, GIB, 1);
    for number in 0..65 {
        device.arrive(0, number, block(number * 4096));
    }
    assert_eq!(device.in_service(), 64);
    let done = drain(&mut device);
    let once = MS + 20_480;
    assert!(done[..64].iter().all(|&(_, at)| at == once));
    assert_eq!(done[64], (64, 2 * once));
}

#[test]
fn flash_takes_eighty_microseconds_thirty_two_at_once() {
    assert_eq!(ssd_service(4096), 80_000 + 2_048);
    let mut device = Device::new(Kind::Ssd, GIB, 1);
    (0..33).for_each(|number| device.arrive(0, number, block(0)));
    assert_eq!((device.in_service(), drain(&mut device).last()), (32, Some(&(32, 2 * 82_048))));
}

#[test]
fn who_may_wait_waits_for_whoever_may_not() {
    for kind in [Kind::Disk, Kind::Ssd] {
        let mut device = Device::new(kind, GIB, 1);
        // These take every place there is.
        (0..32).for_each(|number| device.arrive(number, number, block(number * 4096)));
        device.arrive_patiently(32, 100, block(40 * 4096));
        device.arrive(32, 200, block(100 << 20));
        let order: Vec<u64> = drain(&mut device).into_iter().map(|(number, _)| number).collect();
        assert_eq!(order[32..], [200, 100], "{kind}");
    }
}

#[test]
fn names_are_read_as_they_are_written() {
    assert!(Kind::ALL.into_iter().all(|kind| kind.to_string().parse() == Ok(kind)));
    let unknown = "tape".parse::<Kind>().unwrap_err();
    assert_eq!(unknown.to_string(), "unknown device 'tape': known are disk, net and ssd");
}
