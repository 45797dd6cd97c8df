//! How this crate finds its shared library, and the types that belong to no function.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::hash::Hash;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tvm_ffi::any::TryFromTemp;
use tvm_ffi::error::{OVERFLOW_ERROR, RUNTIME_ERROR, TYPE_ERROR, VALUE_ERROR};
use tvm_ffi::object::ObjectRef;
use tvm_ffi::tvm_ffi_sys::{TVMFFIByteArray, TVMFFIErrorCreateWithCauseAndExtraContext, TVMFFIFieldInfo, TVMFFIFieldSetter};
use tvm_ffi::tvm_ffi_sys::{TVMFFIFunctionCell, TVMFFIGetTypeInfo, TVMFFITypeKeyToIndex};
use tvm_ffi::{Any, AnyCompatible, AnyView, Array, Error, FieldGetter, Function, Map, Module, ObjectCore, ObjectRefCore};
use tvm_ffi::{Object, Result, TVMFFIAny, TVMFFIObject, TypeIndex};

// ---- finding and loading the library

static MODULE: OnceLock<(PathBuf, Module)> = OnceLock::new();
static LOADING: Mutex<()> = Mutex::new(());

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(|e| e.into_inner())
}

fn failure(text: String) -> Error {
    Error::new(RUNTIME_ERROR, &text, "")
}

/// Returns the file name of the shared library on this platform.
pub fn file_name() -> String {
    format!("{}{}{}", std::env::consts::DLL_PREFIX, crate::LIBRARY, std::env::consts::DLL_SUFFIX)
}

/// Loads the shared library from a file. Programs that have it in another place than
/// beside themselves call this first. It is an error if the library has been loaded from
/// another file.
pub fn load(path: impl AsRef<Path>) -> Result<()> {
    let _loading = lock(&LOADING);
    let path = path.as_ref();
    if let Some((loaded, _)) = MODULE.get() {
        if same_file(loaded, path) {
            return Ok(());
        }
        return Err(failure(format!(
            "{}: the library is already loaded from {}, so it cannot be loaded from {}: call load before all else",
            crate::LIBRARY,
            loaded.display(),
            path.display()
        )));
    }
    open(path)
}

fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

fn open(path: &Path) -> Result<()> {
    let Some(text) = path.to_str() else {
        return Err(failure(format!("{}: the path {} is not UTF-8: move the library", crate::LIBRARY, path.display())));
    };
    if !path.is_file() {
        return Err(failure(format!("{}: there is no library {}: {}", crate::LIBRARY, text, REMEDY)));
    }
    // A name without a folder would be searched for, not opened.
    let full = path.canonicalize().ok().and_then(|p| p.to_str().map(str::to_string)).unwrap_or_else(|| text.to_string());
    let module = Module::load_from_file(&full).map_err(|e| {
        failure(format!(
            "{}: cannot load {}: {}: build it for this machine with the Go package and this crate, tvmffi-bind export --rust",
            crate::LIBRARY,
            text,
            e.message()
        ))
    })?;
    let _ = MODULE.set((path.to_path_buf(), module));
    Ok(())
}

const REMEDY: &str = "put it beside the program, name its path with library::load, or build it again with tvmffi-bind export --rust";

fn module() -> Result<&'static (PathBuf, Module)> {
    if let Some(m) = MODULE.get() {
        return Ok(m);
    }
    let _loading = lock(&LOADING);
    if MODULE.get().is_none() {
        let beside = std::env::current_exe().ok().and_then(|p| p.parent().map(|d| d.join(file_name())));
        let places: Vec<PathBuf> = beside.into_iter().chain([Path::new(env!("CARGO_MANIFEST_DIR")).join(file_name())]).collect();
        match places.iter().find(|p| p.is_file()) {
            Some(p) => open(p)?,
            None => {
                let tried: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
                return Err(failure(format!("{}: there is no library {}: {}", crate::LIBRARY, tried.join(" and no "), REMEDY)));
            }
        }
    }
    MODULE.get().ok_or_else(|| failure(format!("{}: the library is not loaded", crate::LIBRARY)))
}

fn stale(what: &str, path: &Path, e: &Error) -> Error {
    failure(format!(
        "{}: {} has no {}: it does not belong to this crate: build both again with tvmffi-bind export --rust ({})",
        crate::LIBRARY,
        path.display(),
        what,
        e.message()
    ))
}

// ---- functions of the library

/// A function that the library has, which is looked up at its first call.
pub(crate) struct Func {
    what: What,
    found: OnceLock<Function>,
}

enum What {
    /// The symbol of a function.
    Symbol(&'static str),
    /// The key of a type, and the name of a method.
    Method(&'static str, &'static str),
    /// The name of a function, for what starts an asynchronous call of it.
    Start(&'static str),
}

impl Func {
    pub(crate) const fn symbol(name: &'static str) -> Self {
        Self { what: What::Symbol(name), found: OnceLock::new() }
    }

    pub(crate) const fn method(key: &'static str, name: &'static str) -> Self {
        Self { what: What::Method(key, name), found: OnceLock::new() }
    }

    pub(crate) const fn start(name: &'static str) -> Self {
        Self { what: What::Start(name), found: OnceLock::new() }
    }

    #[inline]
    pub(crate) fn get(&self) -> Result<&Function> {
        match self.found.get() {
            Some(f) => Ok(f),
            None => self.find(),
        }
    }

    #[cold]
    fn find(&self) -> Result<&Function> {
        let (path, module) = module()?;
        let f = match self.what {
            What::Symbol(name) => module.get_function(name).map_err(|e| stale(&format!("function {name}"), path, &e))?,
            What::Method(key, name) => {
                let index = key_index(key).map_err(|e| stale(&format!("type {key}"), path, &e))?;
                Function::from_type_method(index, name)
                    .or_else(|e| Function::from_type_attr(index, name).map_err(|_| e))
                    .map_err(|e| stale(&format!("method {name} of {key}"), path, &e))?
            }
            What::Start(name) => {
                static ASYNC: Func = Func::symbol("_async");
                call(ASYNC.get()?, false, [text(name)], get::<Function>)?
            }
        };
        Ok(self.found.get_or_init(|| f))
    }
}

/// Calls f and takes its result by read. If flat is set, the library may return it in flat form.
fn invoke<T>(f: &Function, flat: bool, args: &[AnyView<'_>], read: impl FnOnce(&mut Values<'_>) -> Result<T>) -> Result<T> {
    let mut room = std::mem::MaybeUninit::<[TVMFFIAny; 128]>::uninit();
    let mut returned = Returned::new(room.as_mut_ptr().cast(), size_of_val(&room), flat);
    // SAFETY: the cell of a function is behind its header. An AnyView is a TVMFFIAny. The callee
    // writes values into the room, or an error or a value into the result.
    let code = unsafe {
        let object = tvm_ffi::ObjectArc::as_raw(Function::data(f)).cast::<TVMFFIObject>();
        let cell = object.add(1).cast::<TVMFFIFunctionCell>();
        ((*cell).safe_call)(object as *mut std::ffi::c_void, args.as_ptr().cast(), args.len() as i32, &mut returned.value)
    };
    if code != 0 {
        return Err(returned.error());
    }
    read(&mut returned.values())
}

/// Calls f. The arguments stay here, so the callee borrows them.
#[inline]
pub(crate) fn call<const N: usize, T>(f: &Function, flat: bool, args: [Any; N], read: impl FnOnce(&mut Values<'_>) -> Result<T>) -> Result<T> {
    let views: [AnyView<'_>; N] = std::array::from_fn(|i| AnyView::from(&args[i]));
    invoke(f, flat, &views, read)
}

pub(crate) fn call_all<const N: usize, T>(f: &Function, flat: bool, args: [Any; N], rest: Vec<Any>, read: impl FnOnce(&mut Values<'_>) -> Result<T>) -> Result<T> {
    let views: Vec<AnyView<'_>> = args.iter().chain(&rest).map(AnyView::from).collect();
    invoke(f, flat, &views, read)
}

pub(crate) fn call_packed<const N: usize, T>(
    f: &Function,
    flat: bool,
    args: [Any; N],
    rest: &[AnyView<'_>],
    read: impl FnOnce(&mut Values<'_>) -> Result<T>,
) -> Result<T> {
    let views: Vec<AnyView<'_>> = args.iter().map(AnyView::from).chain(rest.iter().copied()).collect();
    invoke(f, flat, &views, read)
}

/// Calls a constructor whose parameters are given by their names.
pub(crate) fn construct<T: AnyCompatible>(f: &Function, fields: Vec<(&'static str, Option<Any>)>) -> Result<T> {
    static KEYWORDS: OnceLock<Function> = OnceLock::new();
    let keywords = match KEYWORDS.get() {
        Some(k) => k,
        None => {
            let k = Function::get_global("ffi.GetKwargsObject")?;
            KEYWORDS.get_or_init(|| k)
        }
    };
    let mut args = vec![keywords.call_packed(&[])?];
    for (name, value) in fields {
        if let Some(value) = value {
            args.push(text(name));
            args.push(value);
        }
    }
    call_all(f, false, [], args, get::<T>)
}

// ---- results

/// The types that only a result has. Before a call FLAT_ROOM offers memory for a result in flat form, or for the parts of
/// an error, and ROOM for an error only. TVM-FFI itself has none of them.
const ROOM: i32 = -0x726f_6f6d;
const FLAT: i32 = ROOM + 1;
const FLAT_LIST: i32 = ROOM + 2;
const FLAT_TUPLE: i32 = ROOM + 3;
const FLAT_MAP: i32 = ROOM + 4;
const FLAT_ERROR: i32 = ROOM + 5;
const FLAT_ROOM: i32 = ROOM + 6;

/// What an error is made of. The references are the caller's.
#[repr(C)]
struct FlatError {
    kind: TVMFFIByteArray,
    message: TVMFFIByteArray,
    backtrace: TVMFFIByteArray,
    cause: *mut std::ffi::c_void,
    value: *mut std::ffi::c_void,
}

/// What a function returns: a value, an error, or values in flat form, in the room or in memory of malloc.
struct Returned {
    value: TVMFFIAny,
    room: *mut TVMFFIAny,
}

impl Returned {
    fn new(room: *mut TVMFFIAny, size: usize, flat: bool) -> Self {
        let mut value = TVMFFIAny::new();
        value.type_index = if flat && !cfg!(windows) { FLAT_ROOM } else { ROOM }; // there the library may have another malloc
        value.small_str_len = size as u32;
        value.data_union.v_ptr = room.cast();
        Self { value, room }
    }

    /// Returns the values, and the place of the bytes of texts, which are behind them in flat form.
    fn parts(&self) -> (&[TVMFFIAny], *const u8) {
        if self.value.type_index != FLAT {
            return (std::slice::from_ref(&self.value), std::ptr::null());
        }
        // SAFETY: the library has written as many values, which stay until drop.
        unsafe {
            let all = std::slice::from_raw_parts(self.value.data_union.v_ptr.cast::<TVMFFIAny>(), self.value.small_str_len as usize);
            (all, all.as_ptr_range().end.cast())
        }
    }

    fn values(&mut self) -> Values<'_> {
        if self.value.type_index == ROOM || self.value.type_index == FLAT_ROOM {
            self.value = TVMFFIAny::new();
        }
        let (rest, text) = self.parts();
        Values { rest, text }
    }

    #[cold]
    fn error(&mut self) -> Error {
        extern "C" {
            fn TVMFFIObjectDecRef(object: *mut std::ffi::c_void) -> i32;
        }
        if self.value.type_index == FLAT_ERROR {
            // SAFETY: the library has written the parts into the room.
            unsafe {
                let parts = self.value.data_union.v_ptr.cast::<FlatError>().read();
                self.value = TVMFFIAny::new();
                let mut made = std::ptr::null_mut();
                if TVMFFIErrorCreateWithCauseAndExtraContext(&parts.kind, &parts.message, &parts.backtrace, parts.cause, parts.value, &mut made) == 0 {
                    self.value.type_index = TypeIndex::kTVMFFIError as i32;
                    self.value.data_union.v_ptr = made;
                }
                for object in [parts.cause, parts.value].into_iter().filter(|x| !x.is_null()) {
                    TVMFFIObjectDecRef(object);
                }
            }
        }
        self.values().any().ok().and_then(|x| x.try_as::<Error>()).unwrap_or_else(Error::from_raised)
    }
}

impl Drop for Returned {
    fn drop(&mut self) {
        extern "C" {
            fn free(memory: *mut std::ffi::c_void);
        }
        // SAFETY: the references are the caller's, and so is memory that is not the room.
        unsafe {
            for x in self.parts().0.iter().filter(|x| x.type_index >= TypeIndex::kTVMFFIStaticObjectBegin as i32) {
                drop(Any::from_raw_ffi_any(*x));
            }
            if self.value.type_index == FLAT && self.value.data_union.v_ptr != self.room.cast() {
                free(self.value.data_union.v_ptr);
            }
        }
    }
}

/// Values to take one after another. In flat form a container is a head with its parts behind it.
pub struct Values<'a> {
    rest: &'a [TVMFFIAny],
    text: *const u8, // null if the values are those of Any
}

impl<'a> Values<'a> {
    pub(crate) fn of(x: &'a Any) -> Self {
        Self::all(std::slice::from_ref(x))
    }

    fn all(list: &'a [Any]) -> Self {
        // SAFETY: an Any is a TVMFFIAny.
        Self { rest: unsafe { std::slice::from_raw_parts(list.as_ptr().cast(), list.len()) }, text: std::ptr::null() }
    }

    fn head(&self) -> i32 {
        self.rest[0].type_index
    }

    fn next(&mut self) -> TVMFFIAny {
        let x = self.rest[0];
        self.rest = &self.rest[1..];
        x
    }

    /// Takes the head of a container in flat form, and returns the number of its parts.
    fn enter(&mut self, map: bool) -> Option<usize> {
        let head = self.head();
        if if map { head == FLAT_MAP } else { head == FLAT_LIST || head == FLAT_TUPLE } {
            // SAFETY: a head has a number.
            return Some(unsafe { self.next().data_union.v_int64 } as usize);
        }
        None
    }

    /// Takes a text or bytes in flat form.
    fn raw(&mut self, kind: TypeIndex) -> Option<&'a [u8]> {
        if self.text.is_null() || self.head() != kind as i32 {
            return None;
        }
        let x = self.next();
        // SAFETY: it has its place among the bytes behind the values, and its size.
        Some(unsafe { std::slice::from_raw_parts(self.text.add(x.data_union.v_int64 as usize), x.small_str_len as usize) })
    }

    /// Takes a value as an Any.
    pub(crate) fn any(&mut self) -> Result<Any> {
        if let Some(n) = self.enter(false) {
            return Ok(Any::from(Array::new((0..n).map(|_| self.any()).collect::<Result<Vec<Any>>>()?)));
        }
        if let Some(n) = self.enter(true) {
            return distinct((0..n).map(|_| Ok((self.any()?, self.any()?))).collect::<Result<Vec<_>>>()?);
        }
        if let Some(s) = self.raw(TypeIndex::kTVMFFIRawStr) {
            return utf8(s).map(|s| text(&s));
        }
        if let Some(b) = self.raw(TypeIndex::kTVMFFIByteArrayPtr) {
            return Ok(bytes(b));
        }
        // SAFETY: the value stays where it is, so the new one takes a reference.
        Ok(unsafe { std::mem::ManuallyDrop::new(Any::from_raw_ffi_any(self.next())) }.deref().clone())
    }
}

fn utf8(s: &[u8]) -> Result<String> {
    match std::str::from_utf8(s) {
        Ok(s) => Ok(s.to_string()),
        Err(e) => Err(Error::new(VALUE_ERROR, &format!("a text of the library is not UTF-8: {e}: let the func of Go return []byte"), "")),
    }
}

// ---- fields

/// A field of a type of the library, which is read and written without entering Go.
pub(crate) struct Field {
    key: &'static str,
    name: &'static str,
    found: OnceLock<Access>,
}

struct Access {
    getter: FieldGetter,
    info: &'static TVMFFIFieldInfo,
}

// SAFETY: tables of types do not change or end after registration, and the functions in
// them may be called on all threads.
unsafe impl Send for Access {}
unsafe impl Sync for Access {}

/// kTVMFFIFieldFlagBitSetterIsFunctionObj: the setter is a Function.
const SETTER_IS_FUNCTION: i64 = 1 << 11;

impl Field {
    pub(crate) const fn new(key: &'static str, name: &'static str) -> Self {
        Self { key, name, found: OnceLock::new() }
    }

    fn access(&self) -> Result<&Access> {
        if let Some(a) = self.found.get() {
            return Ok(a);
        }
        let (path, _) = module()?;
        let index = key_index(self.key).map_err(|e| stale(&format!("type {}", self.key), path, &e))?;
        let what = format!("field {} of {}", self.name, self.key);
        let getter = FieldGetter::new(index, self.name).map_err(|e| stale(&what, path, &e))?;
        // SAFETY: index is a registered type; its tables live as long as the process.
        let fields = unsafe {
            let info = &*TVMFFIGetTypeInfo(index);
            std::slice::from_raw_parts(info.fields, info.num_fields as usize)
        };
        let info = fields.iter().find(|f| f.name.as_str() == self.name);
        let info = info.ok_or_else(|| failure(format!("{}: there is no {}", crate::LIBRARY, what)))?;
        Ok(self.found.get_or_init(|| Access { getter, info }))
    }

    pub(crate) fn get<T: ObjectRefCore>(&self, object: &T) -> Result<Any> {
        self.access()?.getter.get_any::<T::ContainerType>(T::data(object))
    }

    pub(crate) fn set<T: ObjectRefCore>(&self, object: &T, value: Any) -> Result<()> {
        let access = self.access()?;
        if access.info.setter.is_null() {
            return Err(failure(format!("{}: field {} of {} is read-only", crate::LIBRARY, self.name, self.key)));
        }
        // SAFETY: object has the type of the field or one that derives from it, so the
        // field is at this offset. The setter belongs to it; it takes its own reference
        // of value.
        unsafe {
            let address = (tvm_ffi::ObjectArc::as_raw(T::data(object)) as *mut u8).offset(access.info.offset as isize);
            if access.info.flags & SETTER_IS_FUNCTION != 0 {
                // The setter is borrowed from the table: a reference more, for f.
                tvm_ffi::object::unsafe_::inc_ref(access.info.setter as *mut TVMFFIObject);
                let mut f = TVMFFIAny::new();
                f.type_index = TypeIndex::kTVMFFIFunction as i32;
                f.data_union.v_ptr = access.info.setter;
                let f = get::<Function>(&mut Values::of(&Any::from_raw_ffi_any(f)))?;
                return call(&f, false, [Any::from(address as *mut std::ffi::c_void), value], nothing);
            }
            let setter: TVMFFIFieldSetter = std::mem::transmute(access.info.setter);
            let raw = Any::into_raw_ffi_any(value);
            let code = setter(address as *mut std::ffi::c_void, &raw);
            drop(Any::from_raw_ffi_any(raw));
            if code == 0 {
                Ok(())
            } else {
                Err(Error::from_raised())
            }
        }
    }
}

// ---- values

pub(crate) fn shared<T: AnyCompatible + Clone>(x: &T) -> Any {
    Any::from(x.clone())
}

pub(crate) fn text<T: AsRef<str> + ?Sized>(x: &T) -> Any {
    Any::from(tvm_ffi::String::from(x.as_ref()))
}

pub(crate) fn bytes<T: AsRef<[u8]> + ?Sized>(x: &T) -> Any {
    Any::from(tvm_ffi::Bytes::from(x.as_ref()))
}

pub(crate) fn unsigned(x: u64) -> Any {
    match i64::try_from(x) {
        Ok(x) => Any::from(x),
        Err(_) => Any::from(tvm_ffi::BigInt::from(x)),
    }
}

/// Makes an Any of a value. The crate tvm-ffi makes an i64 of a u64 and of a usize without a look: one beyond i64 would be negative.
pub(crate) fn given<T: Into<Any>>(x: T) -> Any {
    let (kind, x) = (std::any::type_name::<T>(), x.into());
    match x.try_as::<i64>() {
        Some(n) if n < 0 && ["u64", "usize", "core::option::Option<u64>", "core::option::Option<usize>"].contains(&kind) => unsigned(n as u64),
        _ => x,
    }
}

pub(crate) fn nanoseconds(d: Duration) -> Result<Any> {
    let n = i64::try_from(d.as_nanos());
    n.map(Any::from).map_err(|_| Error::new(OVERFLOW_ERROR, &format!("{d:?} is longer than a Duration of Go can be, 292 years"), ""))
}

pub(crate) fn time(t: SystemTime) -> Result<Any> {
    let since = t.duration_since(UNIX_EPOCH).map_or_else(|e| -(e.duration().as_nanos() as i128), |d| d.as_nanos() as i128);
    let (seconds, rest) = (i64::try_from(since.div_euclid(1_000_000_000)), since.rem_euclid(1_000_000_000) as i64);
    let seconds = seconds.map_err(|_| Error::new(OVERFLOW_ERROR, &format!("Go has no time that is {since} nanoseconds after 1970"), ""))?;
    Ok(tuple(vec![Any::from(seconds), Any::from(rest), Any::from(0)]))
}

pub(crate) fn data_type(text: &str) -> tvm_ffi::DLDataType {
    <tvm_ffi::DLDataType as tvm_ffi::DLDataTypeExt>::try_from_str(text).expect("a data type that the generator has checked")
}

pub(crate) fn optional<T>(x: Option<T>, f: impl Fn(T) -> Result<Any>) -> Result<Any> {
    match x {
        Some(x) => f(x),
        None => Ok(Any::new()),
    }
}

pub(crate) fn each<T>(items: impl IntoIterator<Item = T>, f: impl Fn(T) -> Result<Any>) -> Result<Vec<Any>> {
    items.into_iter().map(f).collect()
}

pub(crate) fn list<T>(items: impl IntoIterator<Item = T>, f: impl Fn(T) -> Result<Any>) -> Result<Any> {
    Ok(Any::from(Array::new(each(items, f)?)))
}

pub(crate) fn tuple(items: Vec<Any>) -> Any {
    Any::from(Array::new(items))
}

pub(crate) fn map<K, V>(items: impl IntoIterator<Item = (K, V)>, key: impl Fn(K) -> Result<Any>, value: impl Fn(V) -> Result<Any>) -> Result<Any> {
    distinct(items.into_iter().map(|(k, v)| Ok((key(k)?, value(v)?))).collect::<Result<Vec<_>>>()?)
}

/// Makes a Map. Pairs of which two have the same key are an error: one of them would be lost.
fn distinct(pairs: Vec<(Any, Any)>) -> Result<Any> {
    let given = pairs.len();
    let map = pairs.into_iter().collect::<Map<Any, Any>>();
    kept(given, map.len())?;
    Ok(Any::from(map))
}

fn kept(given: usize, keys: usize) -> Result<()> {
    match given == keys {
        true => Ok(()),
        false => Err(Error::new(VALUE_ERROR, &format!("{given} pairs have only {keys} keys"), "")),
    }
}

pub(crate) fn record(fields: Vec<(&'static str, Any)>) -> Any {
    Any::from(fields.into_iter().map(|(k, v)| (text(k), v)).collect::<Map<Any, Any>>())
}

pub(crate) fn function<const N: usize>(f: impl Fn(&[Any; N]) -> Result<Any> + Send + Sync + 'static) -> Any {
    Any::from(Function::from_packed(move |args| {
        if args.len() != N {
            return Err(Error::new(TYPE_ERROR, &format!("the function takes {N} arguments, but got {}", args.len()), ""));
        }
        f(&std::array::from_fn(|i| Any::from(args[i])))
    }))
}

/// Converts a value like an argument of C++: a bool is an int, an int is a float.
#[inline]
pub(crate) fn get<T: AnyCompatible>(x: &mut Values<'_>) -> Result<T> {
    TryFromTemp::<T>::try_from(AnyView::from(&x.any()?)).map(TryFromTemp::into_value)
}

pub(crate) fn integer<T: TryFrom<i64>>(x: &mut Values<'_>) -> Result<T> {
    let n = get::<i64>(x)?;
    T::try_from(n).map_err(|_| Error::new(OVERFLOW_ERROR, &format!("{n} does not fit in {}", std::any::type_name::<T>()), ""))
}

/// Takes what unsigned makes.
pub(crate) fn number(x: &mut Values<'_>) -> Result<u64> {
    let n = get::<tvm_ffi::BigInt>(x)?;
    n.to_u64().ok_or_else(|| Error::new(OVERFLOW_ERROR, &format!("{n} does not fit in u64"), ""))
}

pub(crate) fn duration(x: &mut Values<'_>) -> Result<Duration> {
    let n = get::<i64>(x)?;
    let positive = u64::try_from(n).map_err(|_| Error::new(VALUE_ERROR, &format!("the duration of {n} nanoseconds is negative: Rust has no such Duration"), ""))?;
    Ok(Duration::from_nanos(positive))
}

/// Takes a time, whose zone is lost.
pub(crate) fn system_time(x: &mut Values<'_>) -> Result<SystemTime> {
    let [seconds, rest, _] = elements(x, 3, |x| Ok([get::<i64>(x)?, get::<i64>(x)?, get::<i64>(x)?]))?;
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let t = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    let t = t.and_then(|t| t.checked_add(Duration::from_nanos(rest.unsigned_abs())));
    t.ok_or_else(|| Error::new(VALUE_ERROR, &format!("the time {seconds} seconds after 1970 is outside of the range of SystemTime"), ""))
}

pub(crate) fn string(x: &mut Values<'_>) -> Result<String> {
    match x.raw(TypeIndex::kTVMFFIRawStr) {
        Some(s) => utf8(s),
        None => utf8(get::<tvm_ffi::String>(x)?.as_bytes()),
    }
}

pub(crate) fn byte_vec(x: &mut Values<'_>) -> Result<Vec<u8>> {
    match x.raw(TypeIndex::kTVMFFIByteArrayPtr) {
        Some(b) => Ok(b.to_vec()),
        None => Ok(get::<tvm_ffi::Bytes>(x)?.as_slice().to_vec()),
    }
}

pub(crate) fn same(x: &mut Values<'_>) -> Result<Any> {
    x.any()
}

pub(crate) fn nothing(_: &mut Values<'_>) -> Result<()> {
    Ok(())
}

fn is_none(x: &Any) -> bool {
    x.type_index() == TypeIndex::kTVMFFINone as i32
}

pub(crate) fn maybe<T>(x: &mut Values<'_>, f: impl Fn(&mut Values<'_>) -> Result<T>) -> Result<Option<T>> {
    if x.head() != TypeIndex::kTVMFFINone as i32 {
        return f(x).map(Some);
    }
    x.next();
    Ok(None)
}

pub(crate) fn vec<T>(x: &mut Values<'_>, f: impl Fn(&mut Values<'_>) -> Result<T>) -> Result<Vec<T>> {
    match x.enter(false) {
        Some(n) => {
            let mut all = Vec::with_capacity(n);
            for _ in 0..n {
                all.push(f(x)?);
            }
            Ok(all)
        }
        None => get::<Array<Any>>(x)?.iter().map(|x| f(&mut Values::of(&x))).collect(),
    }
}

pub(crate) fn hash_set<T: Eq + Hash>(x: &mut Values<'_>, f: impl Fn(&mut Values<'_>) -> Result<T>) -> Result<HashSet<T>> {
    vec(x, f).map(|all| all.into_iter().collect())
}

/// Takes the n elements of a tuple.
pub(crate) fn elements<T>(x: &mut Values<'_>, n: usize, f: impl Fn(&mut Values<'_>) -> Result<T>) -> Result<T> {
    let check = |got: usize| match got == n {
        true => Ok(()),
        false => Err(Error::new(TYPE_ERROR, &format!("expected a tuple of {n} values, got {got}"), "")),
    };
    if let Some(got) = x.enter(false) {
        check(got)?;
        return f(x);
    }
    let items: Vec<Any> = get::<Array<Any>>(x)?.iter().collect();
    check(items.len())?;
    f(&mut Values::all(&items))
}

pub(crate) fn hash_map<K: Eq + Hash, V>(
    x: &mut Values<'_>,
    key: impl Fn(&mut Values<'_>) -> Result<K>,
    value: impl Fn(&mut Values<'_>) -> Result<V>,
) -> Result<HashMap<K, V>> {
    match x.enter(true) {
        Some(n) => {
            let mut all = HashMap::with_capacity(n);
            for _ in 0..n {
                let k = key(x)?;
                all.insert(k, value(x)?);
            }
            kept(n, all.len())?;
            Ok(all)
        }
        None => {
            let map = get::<Map<Any, Any>>(x)?;
            let all = map.iter().map(|(k, v)| Ok((key(&mut Values::of(&k))?, value(&mut Values::of(&v))?))).collect::<Result<HashMap<K, V>>>()?;
            kept(map.len(), all.len())?;
            Ok(all)
        }
    }
}

/// Calls take for each field of a record, with its name and what its value is taken from.
pub(crate) fn fields(x: &mut Values<'_>, mut take: impl FnMut(&str, &mut Values<'_>) -> Result<()>) -> Result<()> {
    match x.enter(true) {
        Some(n) => (0..n).try_for_each(|_| {
            let name = string(x)?;
            take(&name, x)
        }),
        None => get::<Map<Any, Any>>(x)?.iter().try_for_each(|(k, v)| take(&string(&mut Values::of(&k))?, &mut Values::of(&v))),
    }
}

/// Returns the value of a field. One that is absent is nil in Go.
pub(crate) fn field<T>(x: Option<T>, f: impl Fn(&mut Values<'_>) -> Result<T>) -> Result<T> {
    match x {
        Some(x) => Ok(x),
        None => f(&mut Values::of(&Any::new())),
    }
}

// ---- object types

/// A type of the library.
#[doc(hidden)]
pub trait Class: Sized + 'static {
    /// The type key.
    const KEY: &'static str;
    /// The number of types that it derives from.
    const DEPTH: i32;
    /// Where its index is kept.
    fn index() -> &'static OnceLock<i32>;
}

/// What an object of the library holds: the header, and what Rust does not see.
#[doc(hidden)]
#[repr(C)]
pub struct Data<T> {
    base: Object,
    class: std::marker::PhantomData<fn() -> T>,
}

// SAFETY: an object begins with its header. Data is never made here: every object comes
// from the library, with its own size and deleter.
unsafe impl<T: Class> ObjectCore for Data<T> {
    const TYPE_KEY: &'static str = T::KEY;
    const TYPE_DEPTH: i32 = T::DEPTH;

    /// Returns the index, or -1, which no object has, if the library cannot be loaded.
    fn type_index() -> i32 {
        if let Some(i) = T::index().get() {
            return *i;
        }
        match module().and_then(|_| key_index(T::KEY)) {
            Ok(i) => *T::index().get_or_init(|| i),
            Err(_) => -1,
        }
    }

    unsafe fn object_header_mut(this: &mut Self) -> &mut TVMFFIObject {
        Object::object_header_mut(&mut this.base)
    }
}

fn key_index(key: &str) -> Result<i32> {
    let mut index = 0;
    // SAFETY: the text lives longer than the call.
    match unsafe { TVMFFITypeKeyToIndex(&TVMFFIByteArray::from_str(key), &mut index) } {
        0 => Ok(index),
        _ => Err(Error::from_raised()),
    }
}

/// Reports whether objects with an index have type T or one that derives from it.
pub(crate) fn is_instance<T: Class>(index: i32) -> bool {
    let target = Data::<T>::type_index();
    if index == target || index < TypeIndex::kTVMFFIStaticObjectBegin as i32 || target < 0 {
        return index == target;
    }
    // SAFETY: both are indices of registered types, whose tables live as long as the
    // process; the list of ancestors has an entry for each depth below that of the type.
    unsafe {
        let (info, of) = (TVMFFIGetTypeInfo(index), TVMFFIGetTypeInfo(target));
        if info.is_null() || of.is_null() || (*info).type_depth <= (*of).type_depth {
            return false;
        }
        let ancestor = *(*info).type_acenstors.add((*of).type_depth as usize);
        !ancestor.is_null() && (*ancestor).type_index == target
    }
}

fn by_global(name: &str, x: Any, y: Option<Any>) -> Result<Any> {
    let f = Function::get_global(name)?;
    match y {
        Some(y) => call(&f, false, [x, y], same),
        None => call(&f, false, [x], same),
    }
}

pub(crate) fn describe<T: AnyCompatible + Clone>(x: &T, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    match by_global("ffi.ReprPrint", shared(x), None).and_then(|x| string(&mut Values::of(&x))) {
        Ok(text) => f.write_str(&text),
        Err(e) => write!(f, "<{}: {}>", T::type_str(), e.message()),
    }
}

/// Asks Go how two objects compare. An error counts as no.
pub(crate) fn ask<T: AnyCompatible + Clone>(name: &str, x: &T, y: &T) -> bool {
    by_global(name, shared(x), Some(shared(y))).and_then(|x| get::<bool>(&mut Values::of(&x))).unwrap_or(false)
}

pub(crate) fn hashed<T: AnyCompatible + Clone>(x: &T) -> i64 {
    by_global("ffi.RecursiveHash", shared(x), None).and_then(|x| get::<i64>(&mut Values::of(&x))).unwrap_or(0)
}

macro_rules! object_type {
    ($name:ident, $key:literal, $depth:literal, $parent:ident) => {
        impl $crate::library::Class for $name {
            const KEY: &'static str = $key;
            const DEPTH: i32 = $depth;

            fn index() -> &'static ::std::sync::OnceLock<i32> {
                static INDEX: ::std::sync::OnceLock<i32> = ::std::sync::OnceLock::new();
                &INDEX
            }
        }

        // SAFETY: the only field holds the reference, so these three move it or lend it.
        unsafe impl ::tvm_ffi::ObjectRefCore for $name {
            type ContainerType = $crate::library::Data<$name>;

            fn data(this: &Self) -> &::tvm_ffi::ObjectArc<Self::ContainerType> {
                &this.object
            }

            fn into_data(this: Self) -> ::tvm_ffi::ObjectArc<Self::ContainerType> {
                this.object
            }

            unsafe fn from_data(data: ::tvm_ffi::ObjectArc<Self::ContainerType>) -> Self {
                Self { object: data }
            }
        }

        // SAFETY: a value holds the pointer to the object and the type index from its
        // header. from_ functions are called after check_any_strict, so the object has
        // this type; copy_from takes a reference, and move_ functions pass one on.
        unsafe impl ::tvm_ffi::AnyCompatible for $name {
            fn type_str() -> ::std::string::String {
                ::std::string::String::from($key)
            }

            unsafe fn copy_to_any_view(src: &Self, data: &mut ::tvm_ffi::TVMFFIAny) {
                let object = ::tvm_ffi::ObjectArc::as_raw(&src.object) as *mut ::tvm_ffi::TVMFFIObject;
                data.type_index = (*object).type_index;
                data.small_str_len = 0;
                data.data_union.v_obj = object;
            }

            unsafe fn move_to_any(src: Self, data: &mut ::tvm_ffi::TVMFFIAny) {
                Self::copy_to_any_view(&src, data);
                ::std::mem::forget(src);
            }

            unsafe fn check_any_strict(data: &::tvm_ffi::TVMFFIAny) -> bool {
                $crate::library::is_instance::<$name>(data.type_index)
            }

            unsafe fn copy_from_any_view_after_check(data: &::tvm_ffi::TVMFFIAny) -> Self {
                ::tvm_ffi::object::unsafe_::inc_ref(data.data_union.v_obj);
                Self { object: ::tvm_ffi::ObjectArc::from_raw(data.data_union.v_obj as *const _) }
            }

            unsafe fn move_from_any_after_check(data: &mut ::tvm_ffi::TVMFFIAny) -> Self {
                Self { object: ::tvm_ffi::ObjectArc::from_raw(data.data_union.v_obj as *const _) }
            }

            unsafe fn try_cast_from_any_view(data: &::tvm_ffi::TVMFFIAny) -> ::std::result::Result<Self, ()> {
                if Self::check_any_strict(data) {
                    ::std::result::Result::Ok(Self::copy_from_any_view_after_check(data))
                } else {
                    ::std::result::Result::Err(())
                }
            }
        }

        impl ::std::convert::TryFrom<::tvm_ffi::Any> for $name {
            type Error = ::tvm_ffi::Error;

            fn try_from(value: ::tvm_ffi::Any) -> ::tvm_ffi::Result<Self> {
                $crate::library::get::<Self>(&mut $crate::library::Values::of(&value))
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $crate::library::describe(self, f)
            }
        }

        $crate::library::deref!($name, $parent);
    };
}

macro_rules! deref {
    ($name:ident, none) => {};
    ($name:ident, $parent:ident) => {
        impl ::std::ops::Deref for $name {
            type Target = $parent;

            fn deref(&self) -> &$parent {
                // SAFETY: both types are transparent over an ObjectArc, whose layout does
                // not depend on its type, and an object of this type is one of the parent.
                unsafe { &*(self as *const $name as *const $parent) }
            }
        }
    };
}

macro_rules! derived {
    ($name:ident, $parent:ident) => {
        impl ::std::convert::From<$name> for $parent {
            fn from(value: $name) -> Self {
                // SAFETY: an object of the type $name is one of the type $parent.
                unsafe {
                    let raw = ::tvm_ffi::ObjectArc::into_raw(value.object);
                    Self { object: ::tvm_ffi::ObjectArc::from_raw(raw as *const _) }
                }
            }
        }

        impl ::std::convert::TryFrom<$parent> for $name {
            type Error = ::tvm_ffi::Error;

            fn try_from(value: $parent) -> ::tvm_ffi::Result<Self> {
                ::tvm_ffi::ObjectRefCast::try_cast::<$name>(value)
            }
        }
    };
}

macro_rules! display {
    ($name:ident, $method:ident) => {
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self.$method() {
                    ::std::result::Result::Ok(text) => f.write_str(&text),
                    ::std::result::Result::Err(e) => ::std::write!(f, "<{}>", e.message()),
                }
            }
        }
    };
}

macro_rules! close {
    ($name:ident, $method:ident) => {
        impl $crate::library::Close for $name {
            fn close(&self) -> ::tvm_ffi::Result<()> {
                $name::$method(self)
            }
        }
    };
}

macro_rules! iterate {
    ($name:ident, $method:ident, $item:ty) => {
        impl ::std::iter::IntoIterator for &$name {
            type Item = ::tvm_ffi::Result<$item>;
            type IntoIter = $crate::library::Seq<$item>;

            fn into_iter(self) -> Self::IntoIter {
                self.$method().unwrap_or_else($crate::library::Seq::failed)
            }
        }
    };
}

macro_rules! equal {
    ($name:ident) => {
        impl ::std::cmp::PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                $crate::library::ask("ffi.RecursiveEq", self, other)
            }
        }
    };
}

macro_rules! hash {
    ($name:ident) => {
        impl ::std::cmp::Eq for $name {}

        impl ::std::hash::Hash for $name {
            fn hash<H: ::std::hash::Hasher>(&self, state: &mut H) {
                ::std::hash::Hash::hash(&$crate::library::hashed(self), state)
            }
        }
    };
}

macro_rules! compare {
    ($name:ident) => {
        impl ::std::cmp::PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> ::std::option::Option<::std::cmp::Ordering> {
                if self == other {
                    ::std::option::Option::Some(::std::cmp::Ordering::Equal)
                } else if $crate::library::ask("ffi.RecursiveLt", self, other) {
                    ::std::option::Option::Some(::std::cmp::Ordering::Less)
                } else if $crate::library::ask("ffi.RecursiveGt", self, other) {
                    ::std::option::Option::Some(::std::cmp::Ordering::Greater)
                } else {
                    ::std::option::Option::None
                }
            }
        }
    };
}

macro_rules! plain_debug {
    ($name:ident) => {
        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(::std::stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}

macro_rules! text_enum {
    ($name:ident) => {
        impl ::std::convert::From<::std::string::String> for $name {
            fn from(text: ::std::string::String) -> Self {
                Self(::std::borrow::Cow::Owned(text))
            }
        }

        impl ::std::convert::From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(::std::borrow::Cow::Owned(::std::string::String::from(text)))
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

macro_rules! bits {
    ($name:ident) => {
        $crate::library::bits!($name, BitOr, bitor, BitOrAssign, bitor_assign);
        $crate::library::bits!($name, BitAnd, bitand, BitAndAssign, bitand_assign);
        $crate::library::bits!($name, BitXor, bitxor, BitXorAssign, bitxor_assign);

        impl ::std::ops::Not for $name {
            type Output = Self;

            fn not(self) -> Self {
                Self(!self.0)
            }
        }
    };
    ($name:ident, $op:ident, $make:ident, $assign:ident, $change:ident) => {
        impl ::std::ops::$op for $name {
            type Output = Self;

            fn $make(self, other: Self) -> Self {
                Self(::std::ops::$op::$make(self.0, other.0))
            }
        }

        impl ::std::ops::$assign for $name {
            fn $change(&mut self, other: Self) {
                ::std::ops::$assign::$change(&mut self.0, other.0)
            }
        }
    };
}

macro_rules! error_type {
    ($name:ident, $kind:literal) => {
        impl $name {
            /// The kind of the error in TVM-FFI.
            pub const KIND: &'static str = $kind;
        }

        impl ::std::convert::TryFrom<&::tvm_ffi::Error> for $name {
            type Error = ::tvm_ffi::Error;

            fn try_from(error: &::tvm_ffi::Error) -> ::tvm_ffi::Result<Self> {
                Self::from_any(&mut $crate::library::Values::of(&$crate::library::error_fields(error, Self::KIND)?))
            }
        }

        impl ::std::convert::From<$name> for ::tvm_ffi::Error {
            fn from(error: $name) -> Self {
                match error.to_any().and_then(|fields| $crate::library::new_error($name::KIND, fields)) {
                    ::std::result::Result::Ok(e) => e,
                    ::std::result::Result::Err(e) => e,
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(::tvm_ffi::Error::from(::std::clone::Clone::clone(self)).message())
            }
        }

        impl ::std::error::Error for $name where $name: ::std::fmt::Debug {}
    };
}

pub(crate) use {bits, close, compare, deref, derived, display, equal, error_type, hash, iterate, object_type, plain_debug, text_enum};

pub(crate) fn error_fields(error: &Error, kind: &str) -> Result<Any> {
    static FIELDS: Func = Func::symbol("_error_fields");
    let other = || Error::new(TYPE_ERROR, &format!("expected an error of kind {kind}, got one of kind {}", error.kind()), "");
    if error.kind().as_str() != kind {
        return Err(other());
    }
    let fields = call(FIELDS.get()?, false, [shared(error)], same)?;
    if is_none(&fields) {
        return Err(other());
    }
    Ok(fields)
}

pub(crate) fn new_error(kind: &str, fields: Any) -> Result<Error> {
    static NEW: Func = Func::symbol("_error_new");
    call(NEW.get()?, false, [text(kind), fields, Any::new()], get::<Error>)
}

// ---- what else a crate needs

/// An object that can be closed.
pub trait Close {
    /// Ends what the object holds. Later calls of its methods are errors.
    fn close(&self) -> Result<()>;
}

/// Closes an object when it goes out of scope. An error of close is lost then: call
/// [`Closing::close`] to see it.
pub struct Closing<T: Close>(Option<T>);

impl<T: Close> Closing<T> {
    /// Takes an object that ends with the result.
    pub fn new(object: T) -> Self {
        Self(Some(object))
    }

    /// Closes the object now.
    pub fn close(mut self) -> Result<()> {
        match self.0.take() {
            Some(object) => object.close(),
            None => Ok(()),
        }
    }
}

impl<T: Close> std::ops::Deref for Closing<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("only close takes the object, and it ends the Closing")
    }
}

impl<T: Close> Drop for Closing<T> {
    fn drop(&mut self) {
        if let Some(object) = self.0.take() {
            let _ = object.close();
        }
    }
}

/// The values of an iterator of Go. It ends after the first error. Dropping it ends the
/// iterator in Go.
pub struct Seq<T> {
    next: Option<Function>,
    failed: Option<Error>,
    convert: fn(&mut Values<'_>) -> Result<T>,
}

impl<T> Seq<T> {
    pub(crate) fn from_any(x: &mut Values<'_>, convert: fn(&mut Values<'_>) -> Result<T>) -> Result<Self> {
        Ok(Self { next: Some(get::<Function>(x)?), failed: None, convert })
    }

    pub(crate) fn failed(e: Error) -> Self {
        Self { next: None, failed: Some(e), convert: |_| Err(failure("there is no value".to_string())) }
    }

    pub(crate) fn to_any(&self) -> Any {
        self.next.as_ref().map(shared).unwrap_or_default()
    }

    fn pull(&self, next: &Function) -> Result<Option<T>> {
        call(next, true, [], |x| maybe(x, |x| elements(x, 1, self.convert)))
    }
}

impl<T> Iterator for Seq<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        if let Some(e) = self.failed.take() {
            return Some(Err(e));
        }
        let next = self.next.take()?;
        let item = self.pull(&next).transpose();
        if let Some(Ok(_)) = item {
            self.next = Some(next);
        }
        item
    }
}

/// A call that runs in Go. It is a future; wait waits for it without an executor. Dropping
/// it neither waits nor cancels.
pub struct Async<R> {
    state: Arc<State>,
    cancel: Function,
    convert: fn(&mut Values<'_>) -> Result<R>,
}

struct State {
    inner: Mutex<Inner>,
    ended: Condvar,
}

struct Inner {
    outcome: Option<Outcome>,
    waker: Option<Waker>,
}

struct Outcome(Result<Any>);

// SAFETY: an Any is one reference, and the count of references is atomic. Go gives this
// one away, so one thread has it at a time.
unsafe impl Send for Outcome {}

impl<R> Async<R> {
    pub(crate) fn start(start: &Function, args: Vec<Any>, rest: Vec<Any>, convert: fn(&mut Values<'_>) -> Result<R>) -> Result<Self> {
        let state = Arc::new(State { inner: Mutex::new(Inner { outcome: None, waker: None }), ended: Condvar::new() });
        let given = state.clone();
        let done = Function::from_packed(move |args| {
            let error = args.get(1).and_then(|e| e.try_as::<Error>());
            let outcome = match (error, args.first()) {
                (Some(e), _) => Err(e),
                (None, Some(x)) => Ok(Any::from(*x)),
                (None, None) => Ok(Any::new()),
            };
            let mut inner = lock(&given.inner);
            inner.outcome = Some(Outcome(outcome));
            let waker = inner.waker.take();
            drop(inner);
            given.ended.notify_all();
            if let Some(w) = waker {
                w.wake();
            }
            Ok(Any::new())
        });
        let cancel = call_all(start, false, [Any::from(done)], args.into_iter().chain(rest).collect(), get::<Function>)?;
        Ok(Self { state, cancel, convert })
    }

    /// Waits for the end of the call and returns its result.
    pub fn wait(self) -> Result<R> {
        let mut inner = lock(&self.state.inner);
        loop {
            if let Some(o) = inner.outcome.take() {
                drop(inner);
                return (self.convert)(&mut Values::of(&o.0?));
            }
            inner = self.state.ended.wait(inner).unwrap_or_else(|e| e.into_inner());
        }
    }

    /// Reports whether the call has ended, so that wait would return at once.
    pub fn is_done(&self) -> bool {
        lock(&self.state.inner).outcome.is_some()
    }

    /// Ends the context of the func in Go. The call ends when the func notices.
    pub fn cancel(&self) -> Result<()> {
        self.cancel.call_packed(&[]).map(|_| ())
    }
}

impl<R> Future for Async<R> {
    type Output = Result<R>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<R>> {
        let mut inner = lock(&self.state.inner);
        match inner.outcome.take() {
            Some(o) => {
                drop(inner);
                Poll::Ready(o.0.and_then(|x| (self.convert)(&mut Values::of(&x))))
            }
            None => {
                inner.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

macro_rules! container {
    ($(#[$doc:meta])* $name:ident, $index:ident) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name(ObjectRef);

        impl $name {
            pub(crate) fn from_any(x: &mut Values<'_>) -> Result<Self> {
                if x.head() != TypeIndex::$index as i32 {
                    return Err(Error::new(TYPE_ERROR, concat!("expected a ", stringify!($name)), ""));
                }
                Ok(Self(get::<ObjectRef>(x)?))
            }

            pub(crate) fn to_any(&self) -> Any {
                shared(&self.0)
            }

            /// Returns the object.
            pub fn as_object(&self) -> &ObjectRef {
                &self.0
            }
        }
    };
}

container!(
    /// A list that all languages share and change.
    List,
    kTVMFFIList
);

container!(
    /// A map that all languages share and change.
    Dict,
    kTVMFFIDict
);

fn global<const N: usize, T>(name: &str, args: [Any; N], read: impl FnOnce(&mut Values<'_>) -> Result<T>) -> Result<T> {
    call(&Function::get_global(name)?, false, args, read)
}

impl List {
    /// Makes a list.
    pub fn new<T: Into<Any>>(items: impl IntoIterator<Item = T>) -> Result<Self> {
        let items = items.into_iter().map(given).collect();
        call_all(&Function::get_global("ffi.List")?, false, [], items, Self::from_any)
    }

    /// Returns the number of elements.
    pub fn len(&self) -> Result<i64> {
        global("ffi.ListSize", [self.to_any()], get::<i64>)
    }

    /// Returns the element at an index.
    pub fn get(&self, index: i64) -> Result<Any> {
        global("ffi.ListGetItem", [self.to_any(), Any::from(index)], same)
    }

    /// Changes the element at an index.
    pub fn set(&self, index: i64, value: impl Into<Any>) -> Result<()> {
        global("ffi.ListSetItem", [self.to_any(), Any::from(index), given(value)], nothing)
    }

    /// Adds an element at the end.
    pub fn push(&self, value: impl Into<Any>) -> Result<()> {
        global("ffi.ListAppend", [self.to_any(), given(value)], nothing)
    }
}

impl Dict {
    /// Makes a map.
    pub fn new<K: Into<Any>, V: Into<Any>>(items: impl IntoIterator<Item = (K, V)>) -> Result<Self> {
        let items = items.into_iter().flat_map(|(k, v)| [given(k), given(v)]).collect();
        call_all(&Function::get_global("ffi.Dict")?, false, [], items, Self::from_any)
    }

    /// Returns the number of elements.
    pub fn len(&self) -> Result<i64> {
        global("ffi.DictSize", [self.to_any()], get::<i64>)
    }

    /// Reports whether the map has a key.
    pub fn contains(&self, key: impl Into<Any>) -> Result<bool> {
        global("ffi.DictCount", [self.to_any(), given(key)], get::<bool>)
    }

    /// Returns the value of a key. A key that the map lacks is an error.
    pub fn get(&self, key: impl Into<Any>) -> Result<Any> {
        global("ffi.DictGetItem", [self.to_any(), given(key)], same)
    }

    /// Changes or adds the value of a key.
    pub fn set(&self, key: impl Into<Any>, value: impl Into<Any>) -> Result<()> {
        global("ffi.DictSetItem", [self.to_any(), given(key), given(value)], nothing)
    }
}
