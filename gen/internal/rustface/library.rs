//! How this crate finds its shared library, and the types that belong to no function.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::task::{Context, Poll, Waker};

use tvm_ffi::any::TryFromTemp;
use tvm_ffi::error::{OVERFLOW_ERROR, RUNTIME_ERROR, TYPE_ERROR};
use tvm_ffi::object::ObjectRef;
use tvm_ffi::tvm_ffi_sys::{TVMFFIByteArray, TVMFFIFieldInfo, TVMFFIFieldSetter, TVMFFIGetTypeInfo, TVMFFITypeKeyToIndex};
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

/// A function of the library, which is looked up at its first call.
pub(crate) struct Func {
    name: &'static str,
    found: OnceLock<Function>,
}

impl Func {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, found: OnceLock::new() }
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
        let f = module.get_function(self.name).map_err(|e| stale(&format!("function {}", self.name), path, &e))?;
        Ok(self.found.get_or_init(|| f))
    }
}

/// A method of a type of the library.
pub(crate) struct Method {
    key: &'static str,
    name: &'static str,
    found: OnceLock<Function>,
}

impl Method {
    pub(crate) const fn new(key: &'static str, name: &'static str) -> Self {
        Self { key, name, found: OnceLock::new() }
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
        let (path, _) = module()?;
        let index = key_index(self.key).map_err(|e| stale(&format!("type {}", self.key), path, &e))?;
        let f = Function::from_type_method(index, self.name)
            .or_else(|e| Function::from_type_attr(index, self.name).map_err(|_| e))
            .map_err(|e| stale(&format!("method {} of {}", self.name, self.key), path, &e))?;
        Ok(self.found.get_or_init(|| f))
    }
}

/// The function that starts an asynchronous call.
pub(crate) struct Start {
    name: &'static str,
    found: OnceLock<Function>,
}

impl Start {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, found: OnceLock::new() }
    }

    pub(crate) fn get(&self) -> Result<&Function> {
        if let Some(f) = self.found.get() {
            return Ok(f);
        }
        static ASYNC: Func = Func::new("_async");
        let f = get::<Function>(&call(ASYNC.get()?, [text(self.name)])?)?;
        Ok(self.found.get_or_init(|| f))
    }
}

/// Calls f. The arguments stay here, so the callee borrows them.
#[inline]
pub(crate) fn call<const N: usize>(f: &Function, args: [Any; N]) -> Result<Any> {
    let views: [AnyView<'_>; N] = std::array::from_fn(|i| AnyView::from(&args[i]));
    f.call_packed(&views)
}

pub(crate) fn call_all<const N: usize>(f: &Function, args: [Any; N], rest: Vec<Any>) -> Result<Any> {
    let views: Vec<AnyView<'_>> = args.iter().chain(&rest).map(AnyView::from).collect();
    f.call_packed(&views)
}

pub(crate) fn call_packed<const N: usize>(f: &Function, args: [Any; N], rest: &[AnyView<'_>]) -> Result<Any> {
    let views: Vec<AnyView<'_>> = args.iter().map(AnyView::from).chain(rest.iter().copied()).collect();
    f.call_packed(&views)
}

/// Calls a constructor whose parameters are given by their names.
pub(crate) fn construct(f: &Function, fields: Vec<(&'static str, Option<Any>)>) -> Result<Any> {
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
    call_all(f, [], args)
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
                let f = get::<Function>(&Any::from_raw_ffi_any(f))?;
                return call(&f, [Any::from(address as *mut std::ffi::c_void), value]).map(|_| ());
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

pub(crate) fn unsigned(x: u64) -> Result<Any> {
    match i64::try_from(x) {
        Ok(x) => Ok(Any::from(x)),
        Err(_) => Err(Error::new(OVERFLOW_ERROR, &format!("{x} does not fit in the 64 bits with a sign of an int: pass a smaller number"), "")),
    }
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
    let pairs: Result<Vec<(Any, Any)>> = items.into_iter().map(|(k, v)| Ok((key(k)?, value(v)?))).collect();
    Ok(Any::from(pairs?.into_iter().collect::<Map<Any, Any>>()))
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

/// Converts x like an argument of C++: a bool is an int, an int is a float.
#[inline]
pub(crate) fn get<T: AnyCompatible>(x: &Any) -> Result<T> {
    TryFromTemp::<T>::try_from(AnyView::from(x)).map(TryFromTemp::into_value)
}

pub(crate) fn integer<T: TryFrom<i64>>(x: &Any) -> Result<T> {
    let n = get::<i64>(x)?;
    T::try_from(n).map_err(|_| Error::new(OVERFLOW_ERROR, &format!("{n} does not fit in {}", std::any::type_name::<T>()), ""))
}

pub(crate) fn string(x: &Any) -> Result<String> {
    Ok(get::<tvm_ffi::String>(x)?.as_str().to_string())
}

pub(crate) fn byte_vec(x: &Any) -> Result<Vec<u8>> {
    Ok(get::<tvm_ffi::Bytes>(x)?.as_slice().to_vec())
}

pub(crate) fn same(x: &Any) -> Result<Any> {
    Ok(x.clone())
}

pub(crate) fn nothing(_: &Any) -> Result<()> {
    Ok(())
}

fn is_none(x: &Any) -> bool {
    x.type_index() == TypeIndex::kTVMFFINone as i32
}

pub(crate) fn maybe<T>(x: &Any, f: impl Fn(&Any) -> Result<T>) -> Result<Option<T>> {
    if is_none(x) {
        Ok(None)
    } else {
        f(x).map(Some)
    }
}

pub(crate) fn vec<T>(x: &Any, f: impl Fn(&Any) -> Result<T>) -> Result<Vec<T>> {
    get::<Array<Any>>(x)?.iter().map(|x| f(&x)).collect()
}

pub(crate) fn elements<const N: usize>(x: &Any) -> Result<[Any; N]> {
    let items = vec(x, |x| Ok(x.clone()))?;
    let n = items.len();
    items.try_into().map_err(|_| Error::new(TYPE_ERROR, &format!("expected a tuple of {N} values, got {n}"), ""))
}

pub(crate) fn hash_map<K: Eq + Hash, V>(x: &Any, key: impl Fn(&Any) -> Result<K>, value: impl Fn(&Any) -> Result<V>) -> Result<HashMap<K, V>> {
    get::<Map<Any, Any>>(x)?.iter().map(|(k, v)| Ok((key(&k)?, value(&v)?))).collect()
}

pub(crate) fn fields(x: &Any) -> Result<HashMap<String, Any>> {
    hash_map(x, string, |x| Ok(x.clone()))
}

pub(crate) fn field(fields: &HashMap<String, Any>, name: &str) -> Result<Any> {
    Ok(fields.get(name).cloned().unwrap_or_default())
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
        Some(y) => call(&f, [x, y]),
        None => call(&f, [x]),
    }
}

pub(crate) fn describe<T: AnyCompatible + Clone>(x: &T, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    match by_global("ffi.ReprPrint", shared(x), None).and_then(|x| string(&x)) {
        Ok(text) => f.write_str(&text),
        Err(e) => write!(f, "<{}: {}>", T::type_str(), e.message()),
    }
}

/// Asks Go how two objects compare. An error counts as no.
pub(crate) fn ask<T: AnyCompatible + Clone>(name: &str, x: &T, y: &T) -> bool {
    by_global(name, shared(x), Some(shared(y))).and_then(|x| get::<bool>(&x)).unwrap_or(false)
}

pub(crate) fn hashed<T: AnyCompatible + Clone>(x: &T) -> i64 {
    by_global("ffi.RecursiveHash", shared(x), None).and_then(|x| get::<i64>(&x)).unwrap_or(0)
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
                $crate::library::get::<Self>(&value)
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

macro_rules! error_type {
    ($name:ident, $kind:literal) => {
        impl $name {
            /// The kind of the error in TVM-FFI.
            pub const KIND: &'static str = $kind;
        }

        impl ::std::convert::TryFrom<&::tvm_ffi::Error> for $name {
            type Error = ::tvm_ffi::Error;

            fn try_from(error: &::tvm_ffi::Error) -> ::tvm_ffi::Result<Self> {
                Self::from_any(&$crate::library::error_fields(error, Self::KIND)?)
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

pub(crate) use {close, compare, deref, derived, display, equal, error_type, hash, iterate, object_type, plain_debug, text_enum};

pub(crate) fn error_fields(error: &Error, kind: &str) -> Result<Any> {
    static FIELDS: Func = Func::new("_error_fields");
    let other = || Error::new(TYPE_ERROR, &format!("expected an error of kind {kind}, got one of kind {}", error.kind()), "");
    if error.kind().as_str() != kind {
        return Err(other());
    }
    let fields = call(FIELDS.get()?, [shared(error)])?;
    if is_none(&fields) {
        return Err(other());
    }
    Ok(fields)
}

pub(crate) fn new_error(kind: &str, fields: Any) -> Result<Error> {
    static NEW: Func = Func::new("_error_new");
    get::<Error>(&call(NEW.get()?, [text(kind), fields, Any::new()])?)
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
    convert: fn(&Any) -> Result<T>,
}

impl<T> Seq<T> {
    pub(crate) fn from_any(x: &Any, convert: fn(&Any) -> Result<T>) -> Result<Self> {
        Ok(Self { next: Some(get::<Function>(x)?), failed: None, convert })
    }

    pub(crate) fn failed(e: Error) -> Self {
        Self { next: None, failed: Some(e), convert: |_| Err(failure("there is no value".to_string())) }
    }

    pub(crate) fn to_any(&self) -> Any {
        self.next.as_ref().map(shared).unwrap_or_default()
    }

    fn pull(&self, next: &Function) -> Result<Option<T>> {
        let x = next.call_packed(&[])?;
        if is_none(&x) {
            return Ok(None);
        }
        let [x] = elements::<1>(&x)?;
        (self.convert)(&x).map(Some)
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
    convert: fn(&Any) -> Result<R>,
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
    pub(crate) fn start(start: &Function, args: Vec<Any>, rest: Vec<Any>, convert: fn(&Any) -> Result<R>) -> Result<Self> {
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
        let cancel = call_all(start, [Any::from(done)], args.into_iter().chain(rest).collect())?;
        Ok(Self { state, cancel: get::<Function>(&cancel)?, convert })
    }

    /// Waits for the end of the call and returns its result.
    pub fn wait(self) -> Result<R> {
        let mut inner = lock(&self.state.inner);
        loop {
            if let Some(o) = inner.outcome.take() {
                drop(inner);
                return (self.convert)(&o.0?);
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
                Poll::Ready(o.0.and_then(|x| (self.convert)(&x)))
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
            pub(crate) fn from_any(x: &Any) -> Result<Self> {
                if x.type_index() != TypeIndex::$index as i32 {
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

fn global<const N: usize>(name: &str, args: [Any; N]) -> Result<Any> {
    call(&Function::get_global(name)?, args)
}

impl List {
    /// Makes a list.
    pub fn new<T: Into<Any>>(items: impl IntoIterator<Item = T>) -> Result<Self> {
        let items = items.into_iter().map(Into::into).collect();
        Self::from_any(&call_all(&Function::get_global("ffi.List")?, [], items)?)
    }

    /// Returns the number of elements.
    pub fn len(&self) -> Result<i64> {
        get::<i64>(&global("ffi.ListSize", [self.to_any()])?)
    }

    /// Returns the element at an index.
    pub fn get(&self, index: i64) -> Result<Any> {
        global("ffi.ListGetItem", [self.to_any(), Any::from(index)])
    }

    /// Changes the element at an index.
    pub fn set(&self, index: i64, value: impl Into<Any>) -> Result<()> {
        global("ffi.ListSetItem", [self.to_any(), Any::from(index), value.into()]).map(|_| ())
    }

    /// Adds an element at the end.
    pub fn push(&self, value: impl Into<Any>) -> Result<()> {
        global("ffi.ListAppend", [self.to_any(), value.into()]).map(|_| ())
    }
}

impl Dict {
    /// Makes a map.
    pub fn new<K: Into<Any>, V: Into<Any>>(items: impl IntoIterator<Item = (K, V)>) -> Result<Self> {
        let items = items.into_iter().flat_map(|(k, v)| [k.into(), v.into()]).collect();
        Self::from_any(&call_all(&Function::get_global("ffi.Dict")?, [], items)?)
    }

    /// Returns the number of elements.
    pub fn len(&self) -> Result<i64> {
        get::<i64>(&global("ffi.DictSize", [self.to_any()])?)
    }

    /// Reports whether the map has a key.
    pub fn contains(&self, key: impl Into<Any>) -> Result<bool> {
        get::<bool>(&global("ffi.DictCount", [self.to_any(), key.into()])?)
    }

    /// Returns the value of a key. A key that the map lacks is an error.
    pub fn get(&self, key: impl Into<Any>) -> Result<Any> {
        global("ffi.DictGetItem", [self.to_any(), key.into()])
    }

    /// Changes or adds the value of a key.
    pub fn set(&self, key: impl Into<Any>, value: impl Into<Any>) -> Result<()> {
        global("ffi.DictSetItem", [self.to_any(), key.into(), value.into()]).map(|_| ())
    }
}
