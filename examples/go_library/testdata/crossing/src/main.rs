// Prints what Rust has for the values and errors of the library crosses, and what it gave back: a line for each row.
use crosses::tvm_ffi::{Any, Bytes, DLDataType, String as Text};

fn main() {
    for row in crosses::names(false).unwrap() {
        let (shown, back) = match crosses::value(&row) {
            Ok(x) => (shown(&x), crosses::returned(&row, x)),
            Err(e) => (format!("{} {}", e.kind(), e.message()), Ok(String::new())),
        };
        line(&row, &shown, &back.unwrap_or_else(|e| e.message().to_string()));
    }
    for row in crosses::names(true).unwrap() {
        let e = crosses::raise(&row).unwrap_err();
        // The crate tvm-ffi makes a str of a message without a look at its bytes.
        let message = if row.ends_with("not UTF-8") { "a message that is not a str".to_string() } else { format!("{:?}", e.message()) };
        let shown = format!("{:?}: {}", e.kind().as_str(), message);
        let again = row.clone(); // an Error stays on its thread, so the closure gets one of its own
        let back = crosses::caught(&row, move || crosses::raise(&again)).unwrap();
        line(&row, &shown, &back);
    }
}

fn line(row: &str, shown: &str, back: &str) {
    println!("{row}\t{}\t{}", shown.replace(['\t', '\n'], " "), back.replace(['\t', '\n'], " "));
}

fn short(text: String) -> String {
    let all: Vec<char> = text.chars().collect();
    if all.len() <= 60 {
        return text;
    }
    format!("{}...{}", all[..25].iter().collect::<String>(), all[all.len() - 10..].iter().collect::<String>())
}

// shown is the value in the words of Rust.
fn shown(x: &Any) -> String {
    if let Some(text) = x.try_as::<Text>() {
        return match std::str::from_utf8(text.as_bytes()) {
            Ok(text) => short(format!("{text:?}")),
            Err(_) => short(format!("String of the bytes {:?}", text.as_bytes())),
        };
    }
    if let Some(bytes) = x.try_as::<Bytes>() {
        return short(format!("Bytes {:?}", bytes.as_slice()));
    }
    let number = match x.type_index() {
        1 => x.try_as::<i64>().map(|x| format!("{x}i64")),
        2 => x.try_as::<bool>().map(|x| format!("{x:?}")),
        3 => x.try_as::<f64>().map(|x| format!("{x:?}")),
        5 => x.try_as::<DLDataType>().map(|d| format!("DLDataType {} {} {}", d.code, d.bits, d.lanes)),
        _ => None,
    };
    number.unwrap_or_else(|| {
        let known = [(0, "None"), (6, "DLDevice"), (69, "Shape"), (71, "Array"), (72, "Map"), (75, "List"), (76, "Dict"), (78, "BigInt")];
        let name = known.iter().find(|(index, _)| *index == x.type_index()).map_or("another type", |(_, name)| name);
        format!("Any of {name}")
    })
}
