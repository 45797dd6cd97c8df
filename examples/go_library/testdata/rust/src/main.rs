// A Rust program that uses the Go library: typed functions, callbacks, errors.
use std::ffi::{c_char, c_int, c_void, CString};
use tvm_ffi::{Any, AnyView, Function};

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
}

fn global(name: &str) -> Function {
    Function::get_global(name).unwrap()
}

fn main() {
    let path = CString::new(std::env::args().nth(1).unwrap()).unwrap();
    // The functions of the library are global as soon as it is loaded.
    assert!(Function::get_global("golib.add").is_err());
    assert!(!unsafe { dlopen(path.as_ptr(), 2) }.is_null());

    let add = global("golib.add");
    let typed = tvm_ffi::into_typed_fn!(add.clone(), Fn(i64, i64) -> tvm_ffi::Result<i64>);
    assert_eq!(typed(40, 2).unwrap(), 42);
    let error = add.call_tuple((1i64,)).err().unwrap();
    assert!(error.message().ends_with("add() takes 2 arguments (a, b), got 1: b is missing"), "{}", error.message());

    let greet = tvm_ffi::into_typed_fn!(global("golib.greet"), Fn(tvm_ffi::String) -> tvm_ffi::Result<tvm_ffi::String>);
    assert_eq!(greet(tvm_ffi::String::from("crab")).unwrap().as_str(), "hello, crab");
    assert_eq!(greet(tvm_ffi::String::from("")).err().unwrap().kind().as_str(), "ValueError");

    let callback = Function::from_typed(|x: i64| -> tvm_ffi::Result<i64> { Ok(x * 3) });
    let result: Any = global("golib.apply").call_packed(&[AnyView::from(&callback), AnyView::from(&14i64)]).unwrap();
    assert_eq!(i64::try_from(result).unwrap(), 42);

    let (how, text) = (tvm_ffi::String::from("nil"), tvm_ffi::String::from(""));
    let error = global("golib.fail").call_packed(&[AnyView::from(&how), AnyView::from(&text)]).err().unwrap();
    assert!(error.message().contains("nil pointer dereference"));

    let threads: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(|| {
                let add = global("golib.add");
                for i in 0..2000i64 {
                    let sum: i64 = add.call_tuple((i, 1i64)).unwrap().try_into().unwrap();
                    assert_eq!(sum, i + 1);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    println!("all right");
}
