// A Rust program that uses what the crate of a Go library shows in a form of its own.
use std::error::Error as _;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::Thread;

use crab::tvm_ffi::{Error, ObjectRefCore, Tensor};
use crab::{library, Color, Grip, Leg, MatchOptions, MissingError, Mode, Shell, ShellOptions, TotalOptions, WaitOptions};

fn main() {
    assert_eq!(crab::div_mod(7, 2).unwrap(), (3, 1));
    assert_eq!(crab::div_mod(7, 0).unwrap_err().message(), "division by zero");

    assert_eq!(crab::total(TotalOptions::default(), []).unwrap(), 10);
    assert_eq!(crab::total(TotalOptions { start: 1 }, [2, 3]).unwrap(), 6);
    let options = MatchOptions { r#move: Some(1), ..Default::default() };
    assert_eq!(crab::r#match("a", 1, options).unwrap(), "a1quick2.5 true false");
    assert_eq!(crab::limits(-8, 9).unwrap(), (-8, 9, f32::MAX));
    assert_eq!(crab::limits(0, u64::MAX).unwrap().1, u64::MAX);
    let dict = library::Dict::new([(crab::tvm_ffi::String::from("a"), 1i64)]).unwrap();
    dict.set(crab::tvm_ffi::String::from("b"), 2i64).unwrap();
    assert_eq!((crab::keys(&dict).unwrap(), dict.len().unwrap()), (2, 2));

    let error = crab::leave(true).unwrap_err();
    assert_eq!((error.kind(), error.message()), (crab::tvm_ffi::error::RUNTIME_ERROR, "the Go function crab.Leave ended by runtime.Goexit"));
    assert!(!crab::leave(false).unwrap());

    iterators();
    values();
    errors();
    opaque();
    long_calls();
    println!("all right");
}

fn iterators() {
    let all: Result<Vec<i64>, Error> = crab::countdown(3).unwrap().collect();
    assert_eq!(all.unwrap(), [3, 2, 1]);
    assert_eq!(crab::countdown(1000).unwrap().take(2).map(Result::unwrap).sum::<i64>(), 1999);
    let squares: Result<Vec<(String, i64)>, Error> = crab::squares(3).unwrap().collect();
    assert_eq!(squares.unwrap()[2], ("2".to_string(), 4));
    let mut breaks = crab::breaks().unwrap();
    assert_eq!(breaks.next().unwrap().unwrap(), 1);
    assert!(breaks.next().unwrap().unwrap_err().message().contains("it breaks"));
    assert!(breaks.next().is_none());
}

fn values() {
    let x = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
    let y = crab::scaled(&x, 3.0).unwrap();
    assert_eq!(x.data_as_slice::<f32>().unwrap(), [3.0, 6.0]);
    assert_eq!(y.data_as_slice::<f32>().unwrap(), [-3.0, -6.0]);

    let (color, mode) = crab::next(Color::BLUE, &Mode::SIDEWAYS).unwrap();
    assert_eq!((color, mode.as_str()), (Color(3), "sideways!"));
    assert!(matches!(Color(1), Color::RED) && Mode::from("forwards") == Mode::FORWARDS);

    let mut grip = crab::firm(Grip::TIP | Grip::EDGE).unwrap();
    assert_eq!((grip, grip & !Grip::WHOLE, grip ^ Grip(7)), (Grip(7), Grip(3), Grip(0)));
    grip &= Grip::TIP;
    grip |= Grip::EDGE;
    grip ^= Grip::TIP;
    assert_eq!(grip, Grip::EDGE);

    let claw = Leg { r#type: "thick".into(), ..Leg::new(1.0) };
    let legs = crab::longer([Leg { claw: Some(Box::new(claw)), ..Leg::new(2.0) }], 0.5).unwrap();
    let claw = legs[0].claw.as_ref().unwrap();
    assert_eq!((legs[0].length, legs[0].r#type.as_str(), claw.length, claw.r#type.as_str()), (2.5, "thin", 1.5, "thick"));
    assert!(format!("{claw:?}").contains("thick"));
}

fn errors() {
    assert_eq!(crab::find("truth").unwrap(), 42);
    let error = crab::find("nemo").unwrap_err();
    assert_eq!(error.kind().as_str(), MissingError::KIND);
    let missing = MissingError::try_from(&error).unwrap();
    assert_eq!((missing.name.as_str(), missing.r#type), ("nemo", 7));
    assert_eq!(missing.to_string(), "nemo is not there, type 7");
    assert!(missing.source().is_none());

    // It passes through Go with its fields, and another error does not become one.
    assert_eq!(crab::catch(|| Err(MissingError::new("pearl".into(), 1))?).unwrap(), "pearl");
    let other = Error::new(crab::tvm_ffi::VALUE_ERROR, "no", "");
    assert!(MissingError::try_from(&other).unwrap_err().message().contains("expected an error of kind crab.MissingError, got one of kind ValueError"));
    assert!(crab::catch(|| Err(Error::new(crab::tvm_ffi::VALUE_ERROR, "no", ""))).unwrap().contains("another error"));
}

fn opaque() {
    let shell = Shell::new(ShellOptions::default()).unwrap();
    assert_eq!(shell.push(["a", "b"]).unwrap(), 3);
    assert_eq!((shell.len().unwrap(), shell.top().unwrap().as_str(), shell.to_string().as_str()), (3, "b", "[sand a b]"));
    let names: Result<Vec<String>, Error> = shell.into_iter().collect();
    assert_eq!(names.unwrap(), ["sand", "a", "b"]);
    for name in &shell {
        assert!(!name.unwrap().is_empty());
    }
    assert!(crab::same(&shell, false).unwrap().same_as(&shell));
    let error = crab::same(&shell, true).unwrap_err();
    assert!(error.message().contains("None") && error.message().contains("crab.Shell"), "{}", error.message());
    let error = Shell::new(ShellOptions { first: String::new() }).unwrap_err();
    assert_eq!((error.kind(), error.message()), (crab::tvm_ffi::VALUE_ERROR, "a shell without sand"));

    // It is closed at the end of a scope, or when somebody asks.
    {
        let shell = library::Closing::new(shell.clone());
        shell.push(["c"]).unwrap();
    }
    for error in [shell.push(["d"]).unwrap_err(), shell.len().unwrap_err(), shell.into_iter().next().unwrap().unwrap_err()] {
        assert!(error.message().contains("the Shell is closed"), "{}", error.message());
    }
    assert!(shell.to_string().contains("the Shell is closed"));
    let sand = library::Closing::new(Shell::new(ShellOptions::default()).unwrap());
    assert!(sand.close().unwrap_err().message().contains("full of sand"));

    let shell = Shell::new(ShellOptions { first: "shared".into() }).unwrap();
    let threads: Vec<_> = (0..4)
        .map(|_| shell.clone())
        .map(|s| std::thread::spawn(move || s.push(["x"]).unwrap()))
        .collect();
    assert_eq!(threads.into_iter().map(|t| t.join().unwrap()).max(), Some(5));
}

/// Runs a future by the thread that waits for it.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(x) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return x;
        }
        std::thread::park();
    }
}

fn long_calls() {
    assert_eq!(crab::wait(1, WaitOptions::default(), [1, 2]).unwrap(), 3);
    let call = crab::wait_async(1, WaitOptions::default(), [1, 2, 3]).unwrap();
    assert_eq!(call.wait().unwrap(), 6);
    assert_eq!(block_on(async { crab::wait_async(20, WaitOptions::default(), [4])?.await }).unwrap(), 4);
    assert_eq!(block_on(crab::wait_async(0, WaitOptions::default(), []).unwrap()).unwrap(), 0);
    let error = crab::wait_async(-1, WaitOptions::default(), []).unwrap().wait().unwrap_err();
    assert_eq!((error.kind(), error.message()), (crab::tvm_ffi::VALUE_ERROR, "a time before now, in ms"));

    // Both run at once; one is cancelled, and one that nobody waits for ends alone.
    let shell = Shell::new(ShellOptions::default()).unwrap();
    let (long, digging) = (crab::wait_async(600_000, WaitOptions::default(), []).unwrap(), shell.dig_async().unwrap());
    assert!(!long.is_done() && !digging.is_done());
    digging.cancel().unwrap();
    digging.cancel().unwrap();
    assert!(digging.wait().unwrap_err().message().contains("canceled"));
    long.cancel().unwrap();
    assert!(std::thread::spawn(move || long.wait().is_err()).join().unwrap());
    drop(crab::wait_async(1, WaitOptions::default(), []).unwrap());
}
