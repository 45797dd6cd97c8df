// The Rust peer: the public API of the tvm-ffi crate. It speaks the protocol of ours/harness.go.
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void, CString};
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;
use tvm_ffi::object::{ObjectRef, ObjectRefCore};
use tvm_ffi::{AnyView, Array, DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, FieldGetter, Function, Map, Tensor};

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn raise(signal: c_int) -> c_int;
}

type Operation<'a> = Box<dyn FnMut(u64) + 'a>;
const TARGET: f64 = 2e6;

fn timed(f: &mut Operation, n: u64) -> f64 {
    let start = Instant::now();
    f(n);
    start.elapsed().as_nanos() as f64
}

fn calibrate(f: &mut Operation) -> u64 {
    let mut n = 1;
    loop {
        // The first operation of all takes long.
        let took = timed(f, n).min(timed(f, n)).min(timed(f, n));
        if took > TARGET / 8.0 {
            return ((n as f64 * TARGET / took) as u64).max(1);
        }
        n *= 2;
    }
}

// As in ours/harness.go.
fn between(f: &mut Operation, n: u64, lines: &mut impl Iterator<Item = std::io::Result<String>>) {
    f(100);
    println!("{}", std::fs::read_link("/proc/thread-self").unwrap().file_name().unwrap().to_str().unwrap());
    std::io::stdout().flush().unwrap();
    lines.next();
    const SIGUSR2: c_int = 12;
    unsafe { raise(SIGUSR2) };
    f(n);
    unsafe { raise(SIGUSR2) };
    println!("counted");
    std::io::stdout().flush().unwrap();
}

fn serve(mut items: Vec<(&str, Operation)>) {
    let names: Vec<&str> = items.iter().map(|x| x.0).collect();
    println!("{}", names.join(" "));
    let mut counts: HashMap<String, u64> = HashMap::new();
    let mut lines = std::io::stdin().lock().lines();
    while let Some(Ok(line)) = lines.next() {
        let words: Vec<&str> = line.split(' ').collect();
        let name = words[0].to_string();
        let f = &mut items.iter_mut().find(|x| x.0 == name).unwrap().1;
        if words.get(1) == Some(&"count") {
            between(f, words[2].parse().unwrap(), &mut lines);
            continue;
        }
        // So that the start of threads does not count.
        let least = if name.contains("thread") { 200000 } else { 1 };
        let n = *counts.entry(name).or_insert_with(|| calibrate(f).max(least));
        if n > 10 {
            f(n / 10);
        }
        println!("{:.2} 0", timed(f, n) / n as f64);
        std::io::stdout().flush().unwrap();
    }
}

fn global(name: &str) -> Function {
    Function::get_global(name).unwrap()
}

fn main() {
    let library = CString::new(std::env::args().nth(2).unwrap()).unwrap();
    unsafe { assert!(!dlopen(library.as_ptr(), 0x102).is_null()) };
    let add = global("perf.add_one");
    let (make_leaf, make_node) = (global("perf.make_leaf"), global("perf.make_node"));
    let make = |f: &Function, v: i64| -> ObjectRef { f.call_packed(&[AnyView::from(&v)]).unwrap().try_into().unwrap() };
    let leaf = make(&make_leaf, 1);
    let (nop_objects, nop_tensors) = (global("perf.nop3_objects"), global("perf.nop3_tensors"));
    let float32 = DLDataType { code: DLDataTypeCode::kDLFloat as u8, bits: 32, lanes: 1 };
    let make_tensor = || Tensor::from_env_alloc(&[4, 4], float32, DLDevice::new(DLDeviceType::kDLCPU, 0)).unwrap();
    let (t1, t2, t3) = (make_tensor(), make_tensor(), make_tensor());
    let echo = global("perf.echo");
    let s32 = "x".repeat(32);
    let text = |s: &str, n: u64| {
        for _ in 0..n {
            let a = tvm_ffi::String::from(s);
            let r: tvm_ffi::String = echo.call_packed(&[AnyView::from(&a)]).unwrap().try_into().unwrap();
            black_box(String::from(r.as_str()));
        }
    };
    let node = make(&make_node, 7);
    let index = AnyView::from(&node).type_index();
    let field = |name| FieldGetter::new(index, name).unwrap();
    let (value, weight, name, child, delta) = (field("value"), field("weight"), field("name"), field("leaf"), field("delta"));
    let fail = global("perf.fail");
    let message = tvm_ffi::String::from(s32.as_str());
    let (repeat, on_thread) = (global("perf.repeat"), global("perf.repeat_on_thread"));
    let one_more = Function::from_typed(|x: i64| -> tvm_ffi::Result<i64> { Ok(x + 1) });
    let ints: Vec<i64> = (0..1000000).collect();
    let array = Array::new(ints.clone());
    let out = vec![0i64; 1000000];
    let texts: Vec<String> = (0..1000).map(|i| format!("string number {i}")).collect();
    let make_strings = || Array::new(texts.iter().map(|s| tvm_ffi::String::from(s.as_str())).collect());
    let strings = make_strings();
    let make_map = || -> Map<tvm_ffi::String, i64> {
        texts.iter().enumerate().map(|(i, s)| (tvm_ffi::String::from(s.as_str()), i as i64)).collect()
    };
    let table = make_map();
    let host = vec![0f32; 1024];

    let mut items: Vec<(&str, Operation)> = Vec::new();
    items.push(("int", Box::new(|n| {
        for i in 0..n {
            let r: i64 = add.call_tuple((i as i64,)).unwrap().try_into().unwrap();
            black_box(r);
        }
    })));
    items.push(("objects3", Box::new(|n| {
        for _ in 0..n {
            nop_objects.call_packed(&[AnyView::from(&leaf), AnyView::from(&leaf), AnyView::from(&leaf)]).unwrap();
        }
    })));
    items.push(("tensors3", Box::new(|n| {
        for _ in 0..n {
            nop_tensors.call_packed(&[AnyView::from(&t1), AnyView::from(&t2), AnyView::from(&t3)]).unwrap();
        }
    })));
    items.push(("string32", Box::new(|n| text(&s32, n))));
    items.push(("string5", Box::new(|n| text("hello", n))));

    items.push(("field_int", Box::new(|n| {
        for _ in 0..n {
            let r: i64 = value.get(&**ObjectRef::data(&node)).unwrap();
            black_box(r);
        }
    })));
    items.push(("field_getter", Box::new(|n| {
        for _ in 0..n {
            let r: i64 = delta.get(&**ObjectRef::data(&node)).unwrap();
            black_box(r);
        }
    })));
    items.push(("field_float", Box::new(|n| {
        for _ in 0..n {
            let r: f64 = weight.get(&**ObjectRef::data(&node)).unwrap();
            black_box(r);
        }
    })));
    items.push(("field_string", Box::new(|n| {
        for _ in 0..n {
            let r: tvm_ffi::String = name.get(&**ObjectRef::data(&node)).unwrap();
            black_box(String::from(r.as_str()));
        }
    })));
    items.push(("field_object", Box::new(|n| {
        for _ in 0..n {
            let r: ObjectRef = child.get(&**ObjectRef::data(&node)).unwrap();
            black_box(&r);
        }
    })));
    items.push(("create", Box::new(|n| {
        for i in 0..n {
            black_box(&make(&make_leaf, i as i64));
        }
    })));
    items.push(("error", Box::new(|n| {
        for _ in 0..n {
            let e = fail.call_packed(&[AnyView::from(&message)]).err().unwrap();
            black_box(e.message().to_string());
        }
    })));
    items.push(("callback", Box::new(|n| {
        repeat.call_packed(&[AnyView::from(&one_more), AnyView::from(&(n as i64))]).unwrap();
    })));
    items.push(("callback_thread", Box::new(|n| {
        on_thread.call_packed(&[AnyView::from(&one_more), AnyView::from(&(n as i64))]).unwrap();
    })));
    items.push(("callback_make", Box::new(|n| {
        for i in 0..n {
            black_box(&Function::from_typed(move |x: i64| -> tvm_ffi::Result<i64> { Ok(x + i as i64) }));
        }
    })));

    items.push(("ints_build", Box::new(|n| {
        for _ in 0..n {
            black_box(&Array::new(ints.clone()));
        }
    })));
    items.push(("ints_slice", Box::new(|n| {
        for _ in 0..n {
            black_box(array.iter().collect::<Vec<i64>>());
        }
    })));
    for name in ["ints_read", "ints_range"] {
        let (array, mut out) = (array.clone(), out.clone());
        items.push((name, Box::new(move |n| {
            for _ in 0..n {
                for (i, x) in array.iter().enumerate() {
                    out[i] = x;
                }
                black_box(&out);
            }
        })));
    }
    items.push(("strings_build", Box::new(|n| {
        for _ in 0..n {
            black_box(&make_strings());
        }
    })));
    items.push(("strings_read", Box::new(|n| {
        for _ in 0..n {
            black_box(strings.iter().map(|s| String::from(s.as_str())).collect::<Vec<_>>());
        }
    })));
    items.push(("map_build", Box::new(|n| {
        for _ in 0..n {
            black_box(&make_map());
        }
    })));
    items.push(("map_lookup", Box::new(|n| {
        for i in 0..n {
            let k = tvm_ffi::String::from(texts[(i % 1000) as usize].as_str());
            black_box(table.get(&k).unwrap());
        }
    })));
    items.push(("map_iterate", Box::new(|n| {
        for _ in 0..n {
            black_box(table.iter().map(|(k, v)| (String::from(k.as_str()), v)).collect::<Vec<_>>());
        }
    })));
    items.push(("wrap", Box::new(|n| {
        // The crate has no wrap of host memory: it copies.
        for _ in 0..n {
            black_box(&Tensor::from_slice(&host, &[1024]).unwrap());
        }
    })));
    items.push(("threads2", Box::new(|n| {
        let work = || {
            let add = global("perf.add_one");
            for i in 0..n / 2 {
                let r: i64 = add.call_tuple((i as i64,)).unwrap().try_into().unwrap();
                black_box(r);
            }
        };
        std::thread::scope(|s| {
            s.spawn(work);
            s.spawn(work);
        });
    })));
    serve(items);
}
