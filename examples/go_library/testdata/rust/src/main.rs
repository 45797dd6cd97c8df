// A Rust program that uses the Go library golib through its crate: functions, objects,
// callbacks, errors, threads. It is started several times, for what can happen only once.
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use golib::tvm_ffi::error::{KEY_ERROR, OVERFLOW_ERROR, VALUE_ERROR};
use golib::tvm_ffi::{Any, AnyView, DLDataType, DLDevice, DLDeviceType, Error, Function, ObjectRefCast, ObjectRefCore, Tensor};
use golib::{library, Circle, CircleOptions, Event, EventOptions, EventUntilOptions, Gauge, GaugeHighestOptions, GaugeOptions, LateError, Limits, Person, Point, PointOptions, Slot, TicksOptions, WindowOptions};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let path = arguments.get(2).map(String::as_str).unwrap_or_default();
    match arguments[1].as_str() {
        "use" => all(),
        "given" => given(path),
        "missing" => missing(),
        "other" => other(path),
        "cost" => cost(),
        "end" => end(),
        name => panic!("there is no part {name}"),
    }
    println!("all right");
}

fn all() {
    functions();
    values();
    standard();
    callbacks();
    objects();
    errors();
    threads();
    long_calls();
}

/// The library is in the place that the caller names, and only there.
fn given(path: &str) {
    let error = library::load(format!("{path}.nothing")).unwrap_err();
    assert!(error.message().contains("there is no library") && error.message().contains("library::load"), "{}", error.message());
    library::load(path).unwrap();
    library::load(path).unwrap();
    let error = library::load("/other").unwrap_err();
    assert!(error.message().contains("already loaded from") && error.message().contains("/other"), "{}", error.message());
    functions();
}

/// The library is in none of its places.
fn missing() {
    for _ in 0..2 {
        let error = golib::add(1, 2).unwrap_err();
        let text = error.message();
        assert!(text.starts_with("golib: there is no library ") && text.contains(&library::file_name()), "{text}");
        assert!(text.contains("put it beside the program") && text.contains("tvmffi-bind export --rust"), "{text}");
        assert!(Point::new(1.0, PointOptions::default()).is_err());
    }
    // A conversion needs the type, which only the library knows.
    assert!(Point::try_from(Any::from(1i64)).is_err());
}

/// A file that is not this library.
fn other(path: &str) {
    match library::load(path) {
        Err(error) => assert!(error.message().contains("cannot load") && error.message().contains("build it for this machine"), "{}", error.message()),
        Ok(()) => {
            let error = golib::add(1, 2).unwrap_err();
            assert!(error.message().contains("has no function add") && error.message().contains("build both again"), "{}", error.message());
            let error = Point::new(1.0, PointOptions::default()).unwrap_err();
            assert!(error.message().contains("has no type golib.Point"), "{}", error.message());
        }
    }
}

fn functions() {
    assert_eq!(golib::add(40, 2).unwrap(), 42);
    assert_eq!(golib::greet("crab").unwrap(), "hello, crab");
    assert_eq!(golib::greet("a name that is not short").unwrap(), "hello, a name that is not short");
    assert_eq!(golib::small(-3, 5, true).unwrap(), 2);
    assert_eq!(golib::env("NOT_SET_ANYWHERE").unwrap(), "");
    let sum = golib::join(&[AnyView::from(&1i64), AnyView::from(&golib::tvm_ffi::String::from("x"))]).unwrap();
    assert!(sum.contains('1') && sum.contains('x'), "{sum}");
}

fn values() {
    let words = golib::word_count(["a", "b", "a"]).unwrap();
    assert_eq!(words, HashMap::from([("a".to_string(), 2), ("b".to_string(), 1)]));
    assert_eq!(golib::word_count(vec![String::from("owned")]).unwrap().len(), 1);
    assert_eq!(golib::reversed(b"abc", None).unwrap(), b"cba");
    assert_eq!(golib::reversed(b"abc", Some(2)).unwrap(), b"abc");
    assert_eq!(golib::swap((7, "x".to_string())).unwrap(), ("x".to_string(), 7));
    assert_eq!(golib::volume(&[2, 3, 4]).unwrap(), 24);
    let second = std::time::Duration::from_secs(1);
    assert_eq!(golib::longest([second], [("a", second), ("b", 2 * second)]).unwrap(), 2 * second);
    assert_eq!(golib::longest([second], [("a", second), ("a", 2 * second)]).unwrap_err().message(), "2 pairs have only 1 keys");
    assert_eq!(golib::power(2, 100).unwrap().to_string(), "1267650600228229401496703205376");
    let most = u64::MAX;
    let hash = |text, before| golib::hash(text, golib::HashOptions { before }).unwrap();
    assert_eq!(golib::hash("a", Default::default()).unwrap(), 0xAF63DC4C8601EC8C);
    assert_eq!((hash("", most), hash("", 7)), (most, 7));
    assert_eq!(golib::hashes(["a"]).unwrap(), HashMap::from([(0xAF63DC4C8601EC8C, vec!["a".to_string()])]));
    assert_eq!(golib::started(Default::default()).unwrap(), golib::Basis::FNV);
    assert_eq!(golib::started(golib::StartedOptions { basis: golib::Basis::SUM }).unwrap(), golib::Basis::SUM);
    let mixed = golib::mix([most, 1], |sum, hash| Ok(sum ^ hash), golib::MixOptions { sum: Some(most) }).unwrap();
    assert_eq!((mixed.hash, mixed.first), (1, Some(most)));
    let bucket = golib::Bucket::new(golib::BucketOptions { limit: Some(most), ..Default::default() }).unwrap();
    assert_eq!((bucket.hash().unwrap(), bucket.limit().unwrap()), (14695981039346656037, Some(most)));
    bucket.set_hash(most).unwrap();
    assert_eq!((bucket.hash().unwrap(), bucket.holds(most - 1).unwrap()), (most, true));
    // The library writes these into the memory of the crate, or into its own.
    for text in ["x\0\u{e4}".to_string(), "y".repeat(2040), "z".repeat(2 << 20)] {
        assert_eq!(golib::greet(&text).unwrap(), format!("hello, {text}"));
        assert_eq!(golib::reversed(text.as_bytes(), Some(2)).unwrap(), text.as_bytes());
        assert_eq!(golib::word_count([&text]).unwrap()[&text], 1);
    }
    assert!(golib::reversed(b"", None).unwrap().is_empty() && golib::word_count([""]).unwrap().is_empty());
    assert_eq!(golib::sorted([("r", vec![vec![1.0, 2.0, 3.0]; 1000])]).unwrap()["r"], vec![vec![1.0, 2.0, 3.0]; 1000]);
    assert_eq!(golib::greet("\u{e4}").unwrap(), "hello, \u{e4}");
    let rows = golib::sorted([("r", vec![vec![3.0, 1.0, 2.0]])]).unwrap();
    assert_eq!(rows["r"], [[1.0, 2.0, 3.0]]);
    assert_eq!(golib::within(50.0, &Limits::new(0.0, 40.0)).unwrap(), 40.0);
    assert_eq!(golib::introduce(&Person::new("ann".into())).unwrap(), "ann 7");
    assert_eq!(golib::within(50.0, &Limits { note: Some("warm".into()), ..Limits::new(0.0, 60.0) }).unwrap(), 50.0);
    let cpu = DLDevice { device_type: DLDeviceType::kDLCPU, device_id: 0 };
    assert_eq!(golib::describe(DLDataType { code: 2, bits: 32, lanes: 1 }, cpu).unwrap(), "float32 on cpu:0");
    let list = library::List::new([1i64, 2]).unwrap();
    let same = golib::append(&list, 3).unwrap();
    assert_eq!((list.len().unwrap(), i64::try_from(same.get(2).unwrap()).unwrap()), (3, 3));
    let tensor = Tensor::from_slice(&[1.0f32, 2.0, 3.5], &[3]).unwrap();
    assert_eq!(golib::sum(&tensor).unwrap(), 6.5);
    assert_eq!(golib::doubled(&tensor).unwrap().data_as_slice::<f32>().unwrap(), [2.0, 4.0, 7.0]);
    assert_eq!(i64::try_from(golib::echo(5i64).unwrap()).unwrap(), 5);
    // The crate tvm-ffi makes an i64 of a u64.
    for large in [golib::echo(u64::MAX).unwrap(), golib::echo(usize::MAX).unwrap(), golib::echo(Some(u64::MAX)).unwrap()] {
        assert_eq!(golib::tvm_ffi::BigInt::try_from(large).unwrap().to_u64(), Some(u64::MAX));
    }
    assert_eq!(i64::try_from(golib::echo(u64::MAX / 2).unwrap()).unwrap(), i64::MAX);
    assert_eq!(i64::try_from(golib::echo(-1i32).unwrap()).unwrap(), -1);
}

/// Values that are those of std::time and std::collections.
fn standard() {
    let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3600));
    let start = UNIX_EPOCH + Duration::from_millis(1_000_000_000_500);
    let early = UNIX_EPOCH - Duration::from_millis(1500);
    for t in [start, early, UNIX_EPOCH, UNIX_EPOCH - second, UNIX_EPOCH - 40_000_000 * hour, SystemTime::now()] {
        assert_eq!(golib::window(t, WindowOptions::default()).unwrap(), t + 90 * Duration::from_secs(60));
        assert_eq!(golib::window(t, WindowOptions { length: Duration::ZERO }).unwrap(), t);
    }
    let error = golib::window(start, WindowOptions { length: Duration::MAX }).unwrap_err();
    assert!(error.kind() == OVERFLOW_ERROR && error.message().contains("292 years"), "{}", error.message());
    let days = golib::schedule(start, move |t| Ok(t + 24 * hour), 3).unwrap();
    assert_eq!(days, [start, start + 24 * hour, start + 48 * hour]);
    let ticks = golib::ticks(start, TicksOptions { every: hour }).unwrap().take(2).collect::<golib::tvm_ffi::Result<Vec<_>>>();
    assert_eq!(ticks.unwrap(), [start, start + hour]);
    assert_eq!(golib::common(["a", "b", "b"], BTreeSet::from(["b", "c"])).unwrap(), HashSet::from(["b".to_string()]));
    assert!(golib::common(["a"], HashSet::<String>::new()).unwrap().is_empty());
    assert_eq!(golib::roots(1.0, 0.0, 4.0).unwrap()[1], (0.0, 2.0));
    assert_eq!(golib::polynomial((0.0, 1.0), [(1.0, 0.0), (0.5, 0.0), (2.0, 0.0)]).unwrap(), (-1.0, 0.5));
    assert_eq!(golib::rotation(0.0).unwrap()((2.0, 1.0)).unwrap(), (2.0, 1.0));

    let tags = |all: &[&str]| all.iter().map(|s| s.to_string()).collect::<HashSet<_>>();
    let slot = Slot::new(start, 2 * hour, tags(&["a", "b"]));
    let both = golib::overlap(&slot, &Slot::new(start + hour, 2 * hour, tags(&["b"]))).unwrap().unwrap();
    assert_eq!((both.from, both.length, both.tags), (start + hour, hour, tags(&["b"])));
    assert!(golib::overlap(&slot, &Slot::new(start - hour, hour, tags(&[]))).unwrap().is_none());

    let event = Event::new(start, EventOptions { tags: Some(tags(&["a"])), ..Default::default() }).unwrap();
    assert_eq!((event.when().unwrap(), event.length().unwrap(), event.tags().unwrap()), (start, 3 * hour / 2, Some(tags(&["a"]))));
    assert_eq!(event.until(EventUntilOptions { from: Some(start - second) }).unwrap(), Some(second));
    assert_eq!(event.until(EventUntilOptions { from: Some(start + 2 * hour) }).unwrap(), None);
    event.set_when(early).unwrap();
    event.set_length(second).unwrap();
    event.set_tags(Some(tags(&["x", "y"]))).unwrap();
    assert_eq!((event.when().unwrap(), event.length().unwrap(), event.tags().unwrap()), (early, second, Some(tags(&["x", "y"]))));
    assert_eq!(golib::attend(&event, early).unwrap(), second);
    let late = LateError::try_from(&golib::attend(&event, UNIX_EPOCH).unwrap_err()).unwrap();
    assert_eq!((late.due, late.by, &late.tags), (early + second, second / 2, &tags(&["x", "y"])));
    assert_eq!(Error::from(late).message(), "500ms after 1969-12-31 23:59:59");
    // A Duration is not negative, a time has an end.
    let error = event.until(EventUntilOptions { from: Some(early + second / 2) }).unwrap_err();
    assert!(error.kind() == VALUE_ERROR && error.message().contains("-500000000 nanoseconds is negative"), "{}", error.message());
    let far = golib::schedule(UNIX_EPOCH + Duration::from_secs(1 << 57), Ok, 1).unwrap_err();
    assert_eq!(far.kind(), VALUE_ERROR);
}

fn callbacks() {
    let calls = Arc::new(AtomicI64::new(0));
    let seen = calls.clone();
    let triple = move |x| {
        seen.fetch_add(1, Ordering::Relaxed);
        Ok(3 * x)
    };
    assert_eq!(golib::apply(triple.clone(), 14).unwrap(), 42);
    assert_eq!(golib::parallel(triple, 10).unwrap(), 3 * 45);
    assert_eq!(calls.load(Ordering::Relaxed), 11);
    let error = golib::apply(|_| Err(Error::new(KEY_ERROR, "not there", "")), 1).unwrap_err();
    assert_eq!((error.kind(), error.message()), (KEY_ERROR, "not there"));
    std::panic::set_hook(Box::new(|_| {})); // which would print it
    let error = golib::apply(|x| if x > 0 { panic!("a panic in Rust") } else { Ok(x) }, 1).unwrap_err();
    let _ = std::panic::take_hook();
    assert!(error.message().contains("a panic in Rust"), "{}", error.message());
    let add = golib::adder(2).unwrap();
    assert_eq!(add(40).unwrap(), 42);
    let double = Function::from_typed(|x: i64| -> golib::tvm_ffi::Result<i64> { Ok(2 * x) });
    let both = golib::compose(&double, &double).unwrap();
    assert_eq!(i64::try_from(both(Any::from(3i64)).unwrap()).unwrap(), 12);
}

fn objects() {
    let p = Point::new(3.0, PointOptions { y: 4.0, ..Default::default() }).unwrap();
    assert_eq!((p.x().unwrap(), p.y().unwrap(), p.name().unwrap().as_str()), (3.0, 4.0, "p"));
    assert_eq!(p.norm().unwrap(), 5.0);
    p.set_x(6.0).unwrap();
    p.set_name("q").unwrap();
    p.r#move(0.0, 4.0).unwrap();
    assert_eq!(p.norm().unwrap(), 10.0);
    assert_eq!(format!("{p:?}"), "q(6, 8)");
    assert_eq!(p.mirrored().unwrap().x().unwrap(), -6.0);
    assert_eq!(golib::distance(&p, &golib::origin().unwrap()).unwrap(), 10.0);
    assert_eq!(golib::type_key(&p).unwrap(), "golib.Point");

    // Fields with structs and behind pointers are values.
    let gauge = Gauge::new(&Limits::new(0.0, 30.0), GaugeOptions { marks: Some(vec![1.0]), ..Default::default() }).unwrap();
    let first = Gauge::new(&Limits::new(0.0, 20.0), GaugeOptions { next: Some(gauge), usual: Some(Limits::new(0.0, 1.0)), ..Default::default() }).unwrap();
    first.warm(2.0).unwrap();
    assert_eq!((first.limits().unwrap().high, first.usual().unwrap().unwrap().high, first.title().unwrap()), (22.0, 3.0, None));
    let next = first.next().unwrap().unwrap();
    assert_eq!((next.limits().unwrap().high, next.marks().unwrap()), (32.0, Some(vec![1.0])));
    first.set_next(None).unwrap();
    first.set_usual(Some(&Limits::new(0.0, 7.0))).unwrap();
    first.set_marks(Some(vec![2.0, 3.0])).unwrap();
    assert_eq!((first.usual().unwrap().unwrap().high, first.marks().unwrap()), (7.0, Some(vec![2.0, 3.0])));
    assert_eq!(first.highest(GaugeHighestOptions { limits: Some(Limits::new(0.0, 40.0)) }).unwrap(), 40.0);

    // A circle is a point.
    let c = golib::around(&p, 2.0).unwrap();
    assert_eq!((c.x().unwrap(), c.radius().unwrap()), (6.0, 2.0));
    assert_eq!(golib::distance(&c, &p).unwrap(), 0.0);
    let up: Point = c.clone().into();
    assert!(up.same_as(&c));
    let down = Circle::try_from(up).unwrap();
    assert!((down.area().unwrap() - 4.0 * std::f64::consts::PI).abs() < 1e-9);
    assert!(Circle::try_from(p.clone()).is_err() && p.clone().try_cast::<Circle>().is_err());
    assert_eq!(Circle::new(1.0, 2.0, CircleOptions::default()).unwrap().radius().unwrap(), 2.0);

    // Any value may hold one.
    assert!(Point::try_from(golib::echo(c).unwrap()).is_ok());
    assert!(Point::try_from(Any::new()).is_err() && Point::try_from(Any::from(1i64)).is_err());
}

fn errors() {
    let error = golib::greet("").unwrap_err();
    assert_eq!(error.kind(), VALUE_ERROR);
    assert!(golib::fail("nil", "").unwrap_err().message().contains("nil pointer dereference"));
    assert!(golib::around(&golib::origin().unwrap(), -1.0).unwrap_err().message().contains("a negative radius"));
    assert_eq!(golib::explain(Some(&error)).unwrap(), error.message());
    assert_eq!(golib::explain(None).unwrap(), "no error");
}

fn threads() {
    let threads: Vec<_> = (0..4)
        .map(|_| std::thread::spawn(|| (0..2000).for_each(|i| assert_eq!(golib::add(i, 1).unwrap(), i + 1))))
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}

fn long_calls() {
    golib::sleep(1).unwrap();
}

/// The thread that ends the process gets signals all the time, like those with which Go
/// interrupts its threads. Rust has taken its stack for signals away when Go ends.
fn end() {
    extern "C" {
        fn pthread_self() -> usize;
        fn pthread_kill(thread: usize, signal: i32) -> i32;
    }
    const SIGURG: i32 = 23;
    golib::add(1, 2).unwrap();
    let main = unsafe { pthread_self() };
    std::thread::spawn(move || loop {
        unsafe { pthread_kill(main, SIGURG) };
    });
}

/// Prints what a call costs, and the same call of a bare Function.
fn cost() {
    fn time(mut f: impl FnMut()) -> f64 {
        let mut best = f64::MAX;
        for _ in 0..20 {
            let start = Instant::now();
            (0..10_000).for_each(|_| f());
            best = best.min(start.elapsed().as_nanos() as f64 / 1e4);
        }
        best
    }
    golib::add(1, 2).unwrap();
    let (add, greet) = (Function::get_global("golib.add").unwrap(), Function::get_global("golib.greet").unwrap());
    let p = golib::origin().unwrap();
    let norm = Function::from_type_key_method("golib.Point", "norm").unwrap();
    let pairs = [
        ("add", time(|| assert_eq!(golib::add(1, 2).unwrap(), 3)), time(|| assert_eq!(i64::try_from(add.call_tuple((1i64, 2i64)).unwrap()).unwrap(), 3))),
        (
            "greet",
            time(|| assert_eq!(golib::greet("somebody with a name").unwrap().len(), 27)),
            time(|| {
                let text: golib::tvm_ffi::String = greet.call_tuple((golib::tvm_ffi::String::from("somebody with a name"),)).unwrap().try_into().unwrap();
                assert_eq!(text.len(), 27)
            }),
        ),
        ("norm", time(|| assert_eq!(p.norm().unwrap(), 0.0)), time(|| assert_eq!(f64::try_from(norm.call_packed(&[AnyView::from(&p)]).unwrap()).unwrap(), 0.0))),
        ("field", time(|| assert_eq!(p.x().unwrap(), 0.0)), 0.0),
    ];
    for (name, typed, bare) in pairs {
        println!("{name} {typed:.1} ns, bare {bare:.1} ns");
    }
}
