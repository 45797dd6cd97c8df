#ifndef TVMFFI_GO_FORM
#define TVMFFI_GO_FORM

// This is the part of the headers of Go libraries that is the same for all of them. Users need nothing of it by name. Its
// namespace has the name of its text, so headers of different releases of tvmffi-bind do not meet.

// Some headers define these as macros.
#pragma push_macro("min")
#pragma push_macro("max")
#undef min
#undef max

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/string.h>
#if __has_include(<tvm/ffi/big_int.h>)
#include <tvm/ffi/big_int.h>
#endif

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tvmffi_go {
namespace FORM {

namespace ffi = ::tvm::ffi;

using SafeCall = int (*)(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);

// BigInt is an integer of any size. Older versions of TVM-FFI have no class for it.
#if __has_include(<tvm/ffi/big_int.h>)
using BigInt = ffi::BigInt;
#else
using BigInt = ffi::Any;
#endif

// kUnsigned says that T has numbers beyond int64, which cross as a BigInt.
template <typename T, bool = std::is_enum_v<T>>
constexpr bool kUnsigned = std::is_same_v<T, unsigned long long> || (std::is_same_v<T, unsigned long> && sizeof(unsigned long) == 8);
template <typename T>
constexpr bool kUnsigned<T, true> = kUnsigned<std::underlying_type_t<T>>;

inline ffi::Any OfUnsigned(uint64_t value) {
  if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return static_cast<int64_t>(value);
#if __has_include(<tvm/ffi/big_int.h>)
  return BigInt(value);
#else
  throw ffi::Error("OverflowError", std::to_string(value) + " is beyond int64_t, and this version of TVM-FFI has no larger integers: 0.1.14 is the first", "");
#endif
}

inline uint64_t UnsignedOf(ffi::AnyView value) {
#if __has_include(<tvm/ffi/big_int.h>)
  if (value.type_index() == ffi::TypeIndex::kTVMFFIBigInt) {
    if (const std::optional<uint64_t> number = value.cast<BigInt>().as<uint64_t>()) return *number;
  }
#endif
  return value.cast<uint64_t>();
}

// An Entry is a C function and its first argument.
struct Entry {
  SafeCall call;
  void* self;
};

// An Argument is a parameter type that any type of a family converts to. It lives until the
// call has returned, and what it refers to as well.
struct Argument {
  using tvmffi_argument = Argument;
  Argument() = default;
  Argument(const Argument&) = delete;
  Argument& operator=(const Argument&) = delete;
  TVMFFIAny any = ffi::AnyView().CopyToTVMFFIAny();
};

// AnyArgument is an argument of any type. A view would end a string at its first zero byte, and make a number beyond int64 negative.
class AnyArgument : public Argument {
 public:
  AnyArgument() = default;
  template <typename T, typename = std::enable_if_t<!std::is_base_of_v<Argument, T> && std::is_constructible_v<ffi::AnyView, const T&>>>
  AnyArgument(const T& value) {
    Set(value);
  }

 private:
  template <typename T>
  void Set(const T& value) {
    if constexpr (kUnsigned<T>) {
      Own(OfUnsigned(static_cast<uint64_t>(value)));
    } else {
      any = ffi::AnyView(value).CopyToTVMFFIAny();
    }
    if constexpr (std::is_same_v<T, std::string>) {
      if (std::memchr(value.data(), 0, value.size()) != nullptr) Own(ffi::String(value));
    }
  }
  template <typename T>
  void Set(const ffi::Optional<T>& value) {
    if constexpr (kUnsigned<T> || std::is_same_v<T, std::string>) {
      if (value.has_value()) Set(*value);
    } else {
      any = ffi::AnyView(value).CopyToTVMFFIAny();
    }
  }
  void Own(ffi::Any value) {
    owned_ = std::move(value);
    any = ffi::AnyView(owned_).CopyToTVMFFIAny();
  }
  ffi::Any owned_;
};

// Text is a string argument. Only a string_view, and a string with a zero byte, are copied.
class Text : public Argument {
 public:
  Text(const char* text) { any = ffi::AnyView(text).CopyToTVMFFIAny(); }
  Text(std::string_view text) { Own(text); }
  Text(const ffi::String& text) { any = ffi::AnyView(text).CopyToTVMFFIAny(); }
  Text(const std::string& text) {
    if (std::memchr(text.data(), 0, text.size()) != nullptr) {
      Own(text);
    } else {
      any = ffi::AnyView(text.c_str()).CopyToTVMFFIAny();
    }
  }

 protected:
  Text() = default;
  void Own(std::string_view text) {
    owned_ = ffi::String(text.data(), text.size());
    any = ffi::AnyView(owned_).CopyToTVMFFIAny();
  }

 private:
  ffi::String owned_;
};

// OptionalText is a string or nothing.
class OptionalText : public Text {
 public:
  using Text::Text;
  OptionalText(std::nullopt_t) {}
  OptionalText(std::nullptr_t) {}
  OptionalText(const std::optional<std::string>& text) {
    if (text.has_value()) Own(*text);
  }
  OptionalText(const ffi::Optional<ffi::String>& text) {
    if (text.has_value()) Own(std::string(text.value()));
  }
};

// Data is an argument of bytes, which are not copied.
class Data : public Argument {
 public:
  Data(const void* data, std::size_t size) { Set(data, size); }
  Data(std::string_view data) { Set(data.data(), data.size()); }
  Data(const std::string& data) { Set(data.data(), data.size()); }
  Data(const char* text) : Data(std::string_view(text)) {}
  Data(const std::vector<unsigned char>& data) { Set(data.data(), data.size()); }
  Data(const ffi::Bytes& data) { any = ffi::AnyView(data).CopyToTVMFFIAny(); }

 protected:
  Data() = default;
  void Set(const void* data, std::size_t size) {
    bytes_ = TVMFFIByteArray{static_cast<const char*>(data), size};
    any = ffi::AnyView(&bytes_).CopyToTVMFFIAny();
  }

 private:
  TVMFFIByteArray bytes_{nullptr, 0};
};

// OptionalData is bytes or nothing.
class OptionalData : public Data {
 public:
  using Data::Data;
  OptionalData(std::nullopt_t) {}
  OptionalData(std::nullptr_t) {}
  OptionalData(const std::optional<std::vector<unsigned char>>& data) {
    if (data.has_value()) Set(data->data(), data->size());
  }
};

// A TensorArgument is a tensor, or a view, whose memory is borrowed until the call returns.
class TensorArgument : public Argument {
 public:
  TensorArgument(const ffi::Tensor& tensor) { any = ffi::AnyView(tensor).CopyToTVMFFIAny(); }
  TensorArgument(const ffi::TensorView& view) { any = ffi::AnyView(view).CopyToTVMFFIAny(); }

 protected:
  TensorArgument() = default;
};

template <typename T>
constexpr DLDataType DataTypeOf() {
  return {static_cast<uint8_t>(std::is_floating_point_v<T> ? kDLFloat
                               : std::is_same_v<T, bool>   ? kDLBool
                               : std::is_signed_v<T>       ? kDLInt
                                                           : kDLUInt),
          static_cast<uint8_t>(8 * sizeof(T)), 1};
}

// A Slice is an argument of numbers in memory, which are not copied.
template <typename T>
class Slice : public TensorArgument {
 public:
  Slice(const ffi::Tensor& tensor) : TensorArgument(tensor) {}
  Slice(const ffi::TensorView& view) : TensorArgument(view) {}
  Slice(const T* data, std::size_t size) { Set(data, size); }
  Slice(const std::vector<T>& data) { Set(data.data(), data.size()); }
  template <std::size_t N>
  Slice(const std::array<T, N>& data) {
    Set(data.data(), N);
  }

 private:
  void Set(const T* data, std::size_t size) {
    size_ = static_cast<int64_t>(size);
    tensor_ = DLTensor{const_cast<T*>(data), DLDevice{kDLCPU, 0}, 1, DataTypeOf<T>(), &size_, &stride_, 0};
    any = ffi::AnyView(&tensor_).CopyToTVMFFIAny();
  }
  int64_t size_ = 0;
  int64_t stride_ = 1;
  DLTensor tensor_{};
};

template <typename T>
struct IsTuple : std::false_type {};
template <typename... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};
template <typename T>
struct IsSet : std::false_type {};
template <typename T, typename Less, typename Memory>
struct IsSet<std::set<T, Less, Memory>> : std::true_type {};
template <typename T>
struct IsComplex : std::false_type {};
template <typename T>
struct IsComplex<std::complex<T>> : std::true_type {};
template <typename T>
struct IsDuration : std::false_type {};
template <typename Rep, typename Period>
struct IsDuration<std::chrono::duration<Rep, Period>> : std::true_type {};
template <typename T>
struct IsTime : std::false_type {};
template <typename D>
struct IsTime<std::chrono::time_point<std::chrono::system_clock, D>> : std::true_type {};
template <typename T>
struct IsMap : std::false_type {};
template <typename K, typename V>
struct IsMap<std::map<K, V>> : std::true_type {};
template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <typename T, typename = void>
struct IsStruct : std::false_type {};
template <typename T>
struct IsStruct<T, std::void_t<typename T::tvmffi_tuple>> : std::true_type {};
template <typename T, typename = void>
struct IsRecord : std::false_type {};
template <typename T>
struct IsRecord<T, std::void_t<typename ffi::TypeTraits<T>::Record>> : std::true_type {};

// Longer converts a duration to a type with shorter ticks. One that does not fit is an error: std::chrono would wrap it around.
template <typename T, typename Rep, typename Period>
T Longer(const std::chrono::duration<Rep, Period>& x) {
  if constexpr (std::is_integral_v<Rep>) {
    using Ticks = std::chrono::duration<int64_t, Period>;
    const auto fits = [&] {
      if (x.count() > Rep(0) && static_cast<uint64_t>(x.count()) > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return false;
      const Ticks ticks(static_cast<int64_t>(x.count()));
      return ticks <= std::chrono::duration_cast<Ticks>(T::max()) && ticks >= std::chrono::duration_cast<Ticks>(T::min());
    };
    if (!fits()) throw ffi::Error("OverflowError", "a duration of " + std::to_string(x.count()) + " ticks of " + std::to_string(Period::num) + "/" + std::to_string(Period::den) + " seconds is longer than 292 years", "");
  }
  return T(x);
}

// Owned makes a value of TVM-FFI.
template <typename T>
ffi::Any Owned(const T& value) {
  if constexpr (std::is_base_of_v<Argument, T>) {
    return ffi::Any(ffi::AnyView::CopyFromTVMFFIAny(value.any));
  } else if constexpr (std::is_same_v<T, std::vector<unsigned char>>) {
    return ffi::Bytes(reinterpret_cast<const char*>(value.data()), value.size());
  } else if constexpr (IsDuration<T>::value) {
    return static_cast<int64_t>(Longer<std::chrono::nanoseconds>(value).count());
  } else if constexpr (IsTime<T>::value) {
    const std::chrono::seconds second(1);
    auto rest = value.time_since_epoch() % second;
    if (rest < rest.zero()) rest += second;
    const auto whole = std::chrono::floor<std::chrono::seconds>(value.time_since_epoch());
    return ffi::Array<ffi::Any>{static_cast<int64_t>(whole.count()), Owned(rest), 0};
  } else if constexpr (IsComplex<T>::value) {
    return ffi::Array<ffi::Any>{value.real(), value.imag()};
  } else if constexpr (IsVector<T>::value || IsSet<T>::value) {
    ffi::Array<ffi::Any> array;
    for (const auto& x : value) array.push_back(Owned<typename T::value_type>(x));
    return array;
  } else if constexpr (IsMap<T>::value) {
    ffi::Map<ffi::Any, ffi::Any> map;
    for (const auto& [key, x] : value) map.Set(Owned(key), Owned(x));
    return map;
  } else if constexpr (IsTuple<T>::value) {
    return std::apply([](const auto&... x) { return ffi::Array<ffi::Any>{Owned(x)...}; }, value);
  } else if constexpr (IsOptional<T>::value) {
    return value.has_value() ? Owned(*value) : ffi::Any();
  } else if constexpr (kUnsigned<T>) {
    return OfUnsigned(static_cast<uint64_t>(value));
  } else {
    return ffi::Any(value);
  }
}

template <typename N>
constexpr bool Negative(N n) {
  if constexpr (std::is_signed_v<N>) {
    return n < 0;
  } else {
    return false;
  }
}

// Shown is a number in an error.
template <typename N>
std::string Shown(N x) {
  std::ostringstream text;
  if constexpr (std::is_floating_point_v<N>) {
    text << x;
  } else {
    text << +x;  // a number in place of a character
  }
  return text.str();
}

// Number<T> converts a number at a place, such as one in a container of the caller. One that does not fit is an error, and so is
// a float for an int.
template <typename T, typename From>
T Number(From x, const char* place = "in a container") {
  if constexpr (std::is_integral_v<T> && std::is_floating_point_v<From>) {
    throw ffi::Error("TypeError", "found the float " + Shown(x) + " " + place + ", expected an int", "");
  } else {
    const T as = static_cast<T>(x);
    bool fits = true;
    if constexpr (std::is_integral_v<T>) {
      fits = static_cast<From>(as) == x && Negative(as) == Negative(x);
    } else if constexpr (std::is_floating_point_v<From>) {
      fits = std::isfinite(as) || !std::isfinite(x);
    }
    if (!fits) throw ffi::Error("TypeError", Shown(x) + " " + place + " does not fit " + (std::is_integral_v<T> ? "an int" : "a float") + " of " + std::to_string(sizeof(T)) + " bytes", "");
    return as;
  }
}

// kNarrow says that a type of numbers may not hold what Go passes, or what an Any has. TVM-FFI would cut it, so it is Passed as
// another type.
template <typename T>
constexpr bool kNarrow = std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, int64_t> && !std::is_same_v<T, double>;
template <typename A, typename T = std::decay_t<A>>
using Passed = std::conditional_t<!kNarrow<T>, T, std::conditional_t<std::is_integral_v<T>, int64_t, double>>;

// Exact is a callable whose parameters have the types A, and gets numbers that fit them. One that does not fit is an error, also as the result.
template <typename F, typename Result, typename A>
class Exact;
template <typename F, typename Result, typename... A>
class Exact<F, Result, std::tuple<A...>> {
 public:
  explicit Exact(F f) : f_(std::move(f)) {}
  // TVM-FFI would make an unsigned long long beyond int64 negative.
  std::conditional_t<kUnsigned<Result, false>, int64_t, Result> operator()(Passed<A>... x) const {
    if constexpr (kUnsigned<Result, false>) {
      return Number<int64_t>(f_(Fitting<std::decay_t<A>>(std::move(x))...), "for the result of a callback");
    } else {
      return f_(Fitting<std::decay_t<A>>(std::move(x))...);
    }
  }

 private:
  template <typename T>
  static T Fitting(Passed<T> x) {
    if constexpr (kNarrow<T>) {
      return Number<T>(x, "for a parameter of a callback");
    } else {
      return x;
    }
  }
  mutable F f_;
};

template <typename F>
class Func;

// A Func is a function of TVM-FFI, or any callable whose parameters have types. A number that does not fit one of them is an error.
template <typename R, typename... P>
class Func<R(P...)> : public ffi::TypedFunction<R(P...)> {
  using Typed = ffi::TypedFunction<R(P...)>;
  // kIs says that another constructor takes F. An ffi::TypedFunction of another signature is a callable.
  template <typename F>
  static constexpr bool kIs = std::is_base_of_v<Typed, F> || std::is_same_v<F, ffi::Function>;

 public:
  Func() = default;
  Func(std::nullptr_t) {}
  Func(Typed f) : Typed(std::move(f)) {}
  Func(ffi::Function f) : Typed(std::move(f)) {}
  template <typename F, typename = std::enable_if_t<std::is_convertible_v<F, std::function<R(P...)>> && !kIs<std::decay_t<F>>>,
            typename Info = ffi::details::FunctionInfo<std::decay_t<F>>>
  Func(F&& f) : Typed(Exact<std::decay_t<F>, typename Info::RetType, typename Info::ArgType>(std::forward<F>(f))) {}
};

// Distinct throws if some of the given pairs of a container have the same key: a map would keep one of them.
inline void Distinct(size_t given, size_t kept) {
  if (kept != given) throw ffi::Error("ValueError", std::to_string(given) + " pairs have only " + std::to_string(kept) + " keys", "");
}

// Element<T>::Of converts an element of a container of the caller. Containers in it, such as the
// vectors of a map, are converted element by element.
template <typename T>
struct Element {
  template <typename From>
  static T Of(const From& x) {
    if constexpr (std::is_arithmetic_v<T> && std::is_arithmetic_v<From>) {
      return Number<T>(x);
    } else if constexpr (std::is_same_v<T, ffi::Any> && kUnsigned<From>) {
      return OfUnsigned(static_cast<uint64_t>(x));
    } else if constexpr (std::is_constructible_v<T, const From&>) {
      return T(x);
    } else {
      return Owned(x).template cast<T>();
    }
  }
};
template <typename T>
struct Element<std::complex<T>> {
  template <typename From>
  static std::complex<T> Of(const From& x) {
    if constexpr (std::is_arithmetic_v<From>) {
      return Number<T>(x);
    } else {
      return {Number<T>(x.real()), Number<T>(x.imag())};
    }
  }
};
template <typename Rep, typename Period>
struct Element<std::chrono::duration<Rep, Period>> {
  template <typename From>
  static std::chrono::duration<Rep, Period> Of(const From& x) {
    if constexpr (IsDuration<From>::value) {
      return Longer<std::chrono::duration<Rep, Period>>(x);
    } else {
      return x;
    }
  }
};
template <typename D>
struct Element<std::chrono::time_point<std::chrono::system_clock, D>> {
  template <typename From>
  static std::chrono::time_point<std::chrono::system_clock, D> Of(const From& x) {
    if constexpr (IsTime<From>::value) {
      return std::chrono::time_point<std::chrono::system_clock, D>(Longer<D>(x.time_since_epoch()));
    } else {
      return x;
    }
  }
};
template <typename T>
struct Element<ffi::Optional<T>> {
  template <typename From>
  static ffi::Optional<T> Of(const From& x) {
    if constexpr (IsOptional<From>::value) {
      return x.has_value() ? ffi::Optional<T>(Element<T>::Of(*x)) : ffi::Optional<T>(std::nullopt);
    } else if constexpr (std::is_arithmetic_v<T> && std::is_arithmetic_v<From>) {
      return ffi::Optional<T>(Number<T>(x));
    } else if constexpr (std::is_constructible_v<ffi::Optional<T>, const From&>) {
      return ffi::Optional<T>(x);
    } else {
      return ffi::Optional<T>(Element<T>::Of(x));
    }
  }
};
template <typename T>
struct Element<std::set<T>> {
  template <typename From>
  static std::set<T> Of(const From& x) {
    std::set<T> set;
    for (const auto& element : x) set.insert(Element<T>::Of(element));
    return set;
  }
};
template <typename T>
struct Element<ffi::Array<T>> {
  template <typename From>
  static ffi::Array<T> Of(const From& x) {
    if constexpr (std::is_constructible_v<ffi::Array<T>, const From&>) {
      return ffi::Array<T>(x);
    } else {
      ffi::Array<T> array;
      for (const auto& element : x) array.push_back(Element<T>::Of(element));
      return array;
    }
  }
};
template <typename K, typename V>
struct Element<ffi::Map<K, V>> {
  template <typename From>
  static ffi::Map<K, V> Of(const From& x) {
    if constexpr (std::is_constructible_v<ffi::Map<K, V>, const From&>) {
      return ffi::Map<K, V>(x);
    } else {
      ffi::Map<K, V> map;
      size_t given = 0;
      for (const auto& [key, value] : x) {
        map.Set(Element<K>::Of(key), Element<V>::Of(value));
        ++given;
      }
      Distinct(given, map.size());
      return map;
    }
  }
};

// A Held is an element of a container that is an argument.
template <typename T>
using Held = std::conditional_t<kUnsigned<T>, ffi::Any, T>;
template <typename T>
Held<T> Hold(T value) {
  if constexpr (kUnsigned<T>) {
    return Owned(value);
  } else {
    return value;
  }
}
// Same is a container as a C, whose elements are of the same types or of any.
template <typename C, typename From>
C Same(const From& container) {
  if constexpr (std::is_same_v<C, From>) {
    return container;
  } else {
    return ffi::Any(container).cast<C>();
  }
}

// A Sequence is an argument of several values: an Array, or what a range holds.
template <typename T>
class Sequence : public Argument {
 public:
  Sequence(const ffi::Array<T>& array) : array_(Same<ffi::Array<Held<T>>>(array)) { Set(); }
  Sequence(std::initializer_list<T> list) {
    array_.reserve(static_cast<int64_t>(list.size()));
    for (const T& x : list) array_.push_back(Hold<T>(x));
    Set();
  }
  template <typename R, typename = decltype(std::begin(std::declval<const R&>())),
            typename = std::enable_if_t<!std::is_base_of_v<ffi::ObjectRef, R> && !std::is_convertible_v<R, const char*>>>
  Sequence(const R& range) {
    for (const auto& x : range) array_.push_back(Hold<T>(Element<T>::Of(x)));
    Set();
  }
  /// The values, of any type.
  ffi::Array<ffi::Any> values() const { return ffi::Any(array_).cast<ffi::Array<ffi::Any>>(); }

 private:
  void Set() { any = ffi::AnyView(array_).CopyToTVMFFIAny(); }
  ffi::Array<Held<T>> array_;
};

// A Mapping is an argument of keys and values: a Map, or what a container of pairs holds.
template <typename K, typename V>
class Mapping : public Argument {
 public:
  Mapping(const ffi::Map<K, V>& map) : map_(Same<ffi::Map<Held<K>, Held<V>>>(map)) { Set(); }
  Mapping(std::initializer_list<std::pair<K, V>> list) {
    for (const auto& [key, value] : list) map_.Set(Hold<K>(key), Hold<V>(value));
    Distinct(list.size(), map_.size());
    Set();
  }
  template <typename R, typename = typename R::mapped_type, typename = std::enable_if_t<!std::is_base_of_v<ffi::ObjectRef, R>>>
  Mapping(const R& map) {
    size_t given = 0;
    for (const auto& [key, value] : map) {
      map_.Set(Hold<K>(Element<K>::Of(key)), Hold<V>(Element<V>::Of(value)));
      ++given;
    }
    Distinct(given, map_.size());
    Set();
  }

 private:
  void Set() { any = ffi::AnyView(map_).CopyToTVMFFIAny(); }
  ffi::Map<Held<K>, Held<V>> map_;
};

// A Given is an argument that is a T, which TVM-FFI has in another form.
template <typename T>
class Given : public Argument {
 public:
  Given() : Given(T()) {}
  template <typename From, typename = std::enable_if_t<std::is_convertible_v<const From&, T>>>
  Given(const From& value) : owned_(Owned(Element<T>::Of(value))) {
    any = ffi::AnyView(owned_).CopyToTVMFFIAny();
  }

 private:
  ffi::Any owned_;
};

// A Callback is an argument that Go calls.
template <typename S>
class Callback : public Argument {
 public:
  template <typename F, typename = std::enable_if_t<std::is_convertible_v<F, Func<S>> && !std::is_same_v<std::decay_t<F>, Callback>>>
  Callback(F&& f) : owned_(std::forward<F>(f)) { any = ffi::AnyView(owned_.packed()).CopyToTVMFFIAny(); }

 private:
  Func<S> owned_;
};

// A Nullable is an argument of a class A, or nothing. T is a type of its values.
template <typename A, typename T>
class Nullable : public A {
 public:
  using A::A;
  Nullable(std::nullopt_t) : A(T()) { this->any = ffi::AnyView().CopyToTVMFFIAny(); }
  Nullable(std::nullptr_t) : Nullable(std::nullopt) {}
  Nullable(const std::optional<T>& value) : A(value.has_value() ? *value : T()) {
    if (!value.has_value()) this->any = ffi::AnyView().CopyToTVMFFIAny();
  }
  template <typename From, typename = std::enable_if_t<std::is_convertible_v<From, T>>>
  Nullable(const ffi::Optional<From>& value) : Nullable(value.has_value() ? std::optional<T>(value.value()) : std::nullopt) {}
};

template <typename T>
inline ffi::AnyView View(const T& value) {
  if constexpr (std::is_base_of_v<Argument, T>) {
    return ffi::AnyView::CopyFromTVMFFIAny(value.any);
  } else {
    return ffi::AnyView(value);
  }
}

// The types that only a result has. Before a call kFlatRoom offers the memory at v_ptr for a result in flat form, or for
// the parts of an error, and kRoom for an error only. No code of TVM-FFI sees an object in them.
constexpr int32_t kRoom = -0x726f6f6d, kFlat = kRoom + 1, kFlatList = kRoom + 2, kFlatTuple = kRoom + 3, kFlatMap = kRoom + 4;
constexpr int32_t kFlatError = kRoom + 5, kFlatRoom = kRoom + 6;

// FlatError is what an error of Go is made of. Its references are the caller's.
struct FlatError {
  TVMFFIByteArray kind, message, backtrace;
  TVMFFIObjectHandle cause, value;
};

// A Thrower throws the errors of a kind as the class of a library for it.
class Thrower {
 public:
  using Raise = void (*)(const ffi::Error&);
  Thrower(const char* kind, Raise raise) : kind_(kind), raise_(raise) {
    std::lock_guard<std::mutex> lock(Lock());
    next_ = First();
    First() = this;
  }
  Thrower(const Thrower&) = delete;
  Thrower& operator=(const Thrower&) = delete;
  ~Thrower() {
    std::lock_guard<std::mutex> lock(Lock());
    Thrower** at = &First();
    while (*at != this) at = &(*at)->next_;
    *at = next_;
  }
  // Of returns what throws errors of a kind, or nullptr.
  static Raise Of(const std::string& kind) {
    std::lock_guard<std::mutex> lock(Lock());
    for (const Thrower* t = First(); t != nullptr; t = t->next_) {
      if (kind == t->kind_) return t->raise_;
    }
    return nullptr;
  }

 private:
  static std::mutex& Lock() {
    static std::mutex* lock = new std::mutex;  // which outlives all static objects
    return *lock;
  }
  static Thrower*& First() {
    static Thrower* first = nullptr;
    return first;
  }
  const char* kind_;
  Raise raise_;
  Thrower* next_ = nullptr;
};

template <typename E>
[[noreturn]] void ThrowAs(const ffi::Error& error) {
  throw E(error);
}

// Throw throws an error as the class of a library that has its kind.
[[noreturn]] inline void Throw(const ffi::Error& error) {
  if (const Thrower::Raise raise = Thrower::Of(error.kind())) raise(error);
  throw error;
}

// Raise throws the error that a C function has left behind, as its result or for the thread.
[[noreturn]] inline void Raise(TVMFFIAny* result = nullptr) {
  TVMFFIObjectHandle handle = nullptr;
  const int32_t type = result == nullptr ? kTVMFFINone : std::exchange(result->type_index, kTVMFFINone);
  if (type == kFlatError) {
    const FlatError* e = static_cast<const FlatError*>(result->v_ptr);
    if (TVMFFIErrorCreateWithCauseAndExtraContext(&e->kind, &e->message, &e->backtrace, e->cause, e->value, &handle) != 0) handle = nullptr;
    if (e->cause != nullptr) TVMFFIObjectDecRef(e->cause);
    if (e->value != nullptr) TVMFFIObjectDecRef(e->value);
  } else if (type == kTVMFFIError) {
    handle = result->v_obj;
  } else {
    TVMFFIErrorMoveFromRaised(&handle);
  }
  if (handle == nullptr) throw ffi::Error("RuntimeError", "a call failed and left no error", "");
  ffi::Any error;
  TVMFFIAny* any = reinterpret_cast<TVMFFIAny*>(&error);  // which owns the reference then
  any->type_index = kTVMFFIError;
  any->v_obj = static_cast<TVMFFIObject*>(handle);
  Throw(error.cast<ffi::Error>());
}

template <typename T>
class Iterator;

template <typename T>
struct IsIterator : std::false_type {};
template <typename T>
struct IsIterator<Iterator<T>> : std::true_type {};
template <typename T>
struct IsTyped : std::false_type {};
template <typename T>
struct IsTyped<ffi::TypedFunction<T>> : std::true_type {};
template <typename T>
struct IsTyped<Func<T>> : std::true_type {};

class Fields;

// Values are taken one after another: one that an Any holds, the elements of an Array, or those of a result in flat
// form. There each container is a head with its parts behind it, and the bytes of texts are at text, NULL elsewhere.
struct Values {
  const TVMFFIAny* next;
  const char* text;
};

// Returned is the result of a call, and ends it. A flat form that is not in the room is in memory of malloc.
class Returned {
 public:
  Returned(void* room, std::size_t size, bool flat) : room_(room) {
#ifdef _WIN32
    flat = false;  // the library may have another malloc
#endif
    any.type_index = flat ? kFlatRoom : kRoom;
    any.small_str_len = static_cast<uint32_t>(size);
    any.v_ptr = room;
  }
  Returned(const Returned&) = delete;
  Returned& operator=(const Returned&) = delete;
  ~Returned() {
    const bool flat = any.type_index == kFlat;
    const TVMFFIAny* values = flat ? static_cast<const TVMFFIAny*>(any.v_ptr) : &any;
    for (uint32_t i = 0; i < (flat ? any.small_str_len : 1); i++) {
      if (values[i].type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(values[i].v_obj);
    }
    if (flat && any.v_ptr != room_) std::free(any.v_ptr);
  }
  Values All() {
    if (any.type_index == kFlatRoom) any.type_index = kTVMFFINone;
    if (any.type_index != kFlat) return {&any, nullptr};
    const TVMFFIAny* values = static_cast<const TVMFFIAny*>(any.v_ptr);
    return {values, reinterpret_cast<const char*>(values + any.small_str_len)};
  }
  ffi::Any Move() {
    ffi::Any value;
    if (any.type_index != kRoom) std::swap(any, *reinterpret_cast<TVMFFIAny*>(&value));
    return value;
  }

  TVMFFIAny any;

 private:
  void* room_;
};

// Parts are the elements of the next value.
class Parts {
 public:
  explicit Parts(Values* from) : values(from) {
    const TVMFFIAny& v = *from->next++;
    if (v.type_index == kFlatList || v.type_index == kFlatTuple) {
      size = static_cast<std::size_t>(v.v_int64);
      return;
    }
    array_ = ffi::AnyView::CopyFromTVMFFIAny(v).cast<ffi::Array<ffi::Any>>();
    size = array_.size();
    own_.next = reinterpret_cast<const TVMFFIAny*>(static_cast<const ffi::ArrayObj*>(array_.get())->begin());
    values = &own_;
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  std::size_t size;
  Values* values;

 private:
  ffi::Array<ffi::Any> array_;
  Values own_{nullptr, nullptr};
};

// TakeEntries calls take for each key of the next value, with its value. It returns their number.
template <typename F>
std::size_t TakeEntries(Values* from, F take) {
  const TVMFFIAny& v = *from->next++;
  if (v.type_index == kFlatMap) {
    for (int64_t i = 0; i < v.v_int64; i++) take(from, from);
    return static_cast<std::size_t>(v.v_int64);
  }
  const auto map = ffi::AnyView::CopyFromTVMFFIAny(v).cast<ffi::Map<ffi::Any, ffi::Any>>();
  for (const auto& [key, value] : map) {
    Values k{reinterpret_cast<const TVMFFIAny*>(&key), nullptr}, x{reinterpret_cast<const TVMFFIAny*>(&value), nullptr};
    take(&k, &x);
  }
  return map.size();
}

// TakeAny takes the next value as one of TVM-FFI.
inline ffi::Any TakeAny(Values* from) {
  const TVMFFIAny& v = *from->next;
  if (v.type_index == kFlatList || v.type_index == kFlatTuple) {
    ffi::Array<ffi::Any> array;
    Parts parts(from);
    for (std::size_t i = 0; i < parts.size; i++) array.push_back(TakeAny(parts.values));
    return array;
  }
  if (v.type_index == kFlatMap) {
    ffi::Map<ffi::Any, ffi::Any> map;
    const std::size_t given = TakeEntries(from, [&](Values* key, Values* value) {
      const ffi::Any k = TakeAny(key);
      map.Set(k, TakeAny(value));
    });
    Distinct(given, map.size());  // two NaN of Go are one key here, and so are an int8 and an int64
    return map;
  }
  from->next++;
  if (from->text != nullptr && v.type_index == kTVMFFIRawStr) return ffi::String(from->text + v.v_int64, v.small_str_len);
  if (from->text != nullptr && v.type_index == kTVMFFIByteArrayPtr) return ffi::Bytes(from->text + v.v_int64, v.small_str_len);
  return ffi::AnyView::CopyFromTVMFFIAny(v);
}

template <typename T>
T Take(Values* from);

template <typename T, std::size_t... I>
T TakeTuple(Values* from, std::index_sequence<I...>) {
  Parts parts(from);
  if (parts.size != sizeof...(I)) {
    throw ffi::Error("TypeError", "the function returned " + std::to_string(parts.size) + " values, want " + std::to_string(sizeof...(I)), "");
  }
  return T{Take<std::tuple_element_t<I, T>>(parts.values)...};
}

// TimeOf returns a time, which Go counts from 1970.
template <typename T>
T TimeOf(int64_t seconds, int64_t nanoseconds) {
  using D = typename T::duration;
  constexpr int64_t most = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::duration::max()).count();
  if (seconds < -most || seconds >= most) {
    throw ffi::Error("ValueError", "the time " + std::to_string(seconds) + " seconds after 1970 is outside of the range of std::chrono::system_clock", "");
  }
  return T(std::chrono::floor<D>(std::chrono::seconds(seconds)) + std::chrono::floor<D>(std::chrono::nanoseconds(nanoseconds)));
}

// Take takes the next value.
template <typename T>
T Take(Values* from) {
  const TVMFFIAny& v = *from->next;
  if constexpr (std::is_same_v<T, ffi::Any>) {
    return TakeAny(from);
  } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<unsigned char>>) {
    constexpr bool text = std::is_same_v<T, std::string>;
    const bool flat = from->text != nullptr && v.type_index == (text ? kTVMFFIRawStr : kTVMFFIByteArrayPtr);
    if (flat || v.type_index == (text ? kTVMFFISmallStr : kTVMFFISmallBytes)) {
      from->next++;
      const char* data = flat ? from->text + v.v_int64 : v.v_bytes;
      return T(data, data + v.small_str_len);
    }
    const ffi::Any any = TakeAny(from);
    if constexpr (text) {
      return any.cast<ffi::String>();
    } else {
      if (any == nullptr) return T();  // nil of Go
      const ffi::Bytes bytes = any.cast<ffi::Bytes>();
      return T(bytes.data(), bytes.data() + bytes.size());
    }
  } else if constexpr (IsOptional<T>::value) {
    if (v.type_index != kTVMFFINone) return Take<typename T::value_type>(from);
    from->next++;
    return std::nullopt;
  } else if constexpr (IsDuration<T>::value) {
    return std::chrono::nanoseconds(Take<int64_t>(from));
  } else if constexpr (IsTime<T>::value) {
    const auto time = Take<std::tuple<int64_t, int64_t, int64_t>>(from);
    return TimeOf<T>(std::get<0>(time), std::get<1>(time));
  } else if constexpr (IsComplex<T>::value) {
    const auto [real, imag] = Take<std::tuple<typename T::value_type, typename T::value_type>>(from);
    return T(real, imag);
  } else if constexpr (IsVector<T>::value || IsSet<T>::value) {
    Parts parts(from);
    T to;
    if constexpr (IsVector<T>::value) to.reserve(parts.size);
    for (std::size_t i = 0; i < parts.size; i++) to.insert(to.end(), Take<typename T::value_type>(parts.values));
    return to;
  } else if constexpr (IsMap<T>::value) {
    T to;
    const std::size_t given = TakeEntries(from, [&](Values* key, Values* value) {
      typename T::key_type k = Take<typename T::key_type>(key);
      to.insert_or_assign(to.end(), std::move(k), Take<typename T::mapped_type>(value));
    });
    Distinct(given, to.size());
    return to;
  } else if constexpr (IsTuple<T>::value) {
    return TakeTuple<T>(from, std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (IsStruct<T>::value) {
    return std::apply([](auto&&... x) { return T{std::move(x)...}; }, Take<typename T::tvmffi_tuple>(from));
  } else if constexpr (IsRecord<T>::value) {
    T to;
    TakeEntries(from, [&](Values* key, Values* value) { ffi::TypeTraits<T>::TakeField(Take<std::string>(key), value, &to); });
    return to;
  } else if constexpr (IsTyped<T>::value || IsIterator<T>::value) {
    return T(TakeAny(from).cast<ffi::Function>());
  } else if constexpr (kUnsigned<T>) {
    from->next++;
    return static_cast<T>(UnsignedOf(ffi::AnyView::CopyFromTVMFFIAny(v)));
  } else if constexpr (std::is_arithmetic_v<T>) {
    from->next++;
    const ffi::AnyView any = ffi::AnyView::CopyFromTVMFFIAny(v);
    if constexpr (kNarrow<T>) {
      return Number<T>(any.cast<Passed<T>>(), "of Go");  // cast<T> would cut what the caller has put into an Any
    } else {
      return any.cast<T>();
    }
  } else {
    return TakeAny(from).cast<T>();
  }
}

// TakenTraits says how values cross that Owned makes and Take takes apart. There is no CopyToAnyView: a view could not own
// what Owned makes.
template <typename T>
struct TakenTraits : ffi::TypeTraitsBase {
  static constexpr int32_t field_static_type_index = kTVMFFIArray;
  static void CopyToAnyView(const T&, TVMFFIAny*) = delete;
  static void MoveToAny(const T& from, TVMFFIAny* to) {
    ffi::Any any = Owned(from);
    *to = std::exchange(*reinterpret_cast<TVMFFIAny*>(&any), ffi::AnyView().CopyToTVMFFIAny());
  }
  // Only a value that T cannot hold is an error.
  static std::optional<T> TryCastFromAnyView(const TVMFFIAny* from) {
    Values values{from, nullptr};
    try {
      return Take<T>(&values);
    } catch (const ffi::Error& e) {
      if (e.kind() == "ValueError") throw;
      return std::nullopt;
    }
  }
  static bool CheckAnyStrict(const TVMFFIAny* from) { return TryCastFromAnyView(from).has_value(); }
  static T CopyFromAnyViewAfterCheck(const TVMFFIAny* from) { return *TryCastFromAnyView(from); }
  static T MoveFromAnyAfterCheck(TVMFFIAny* from) {
    std::optional<T> to = TryCastFromAnyView(from);
    reinterpret_cast<ffi::Any*>(from)->reset();
    return *std::move(to);
  }
  static std::string TypeStr() { return "Array<Any>"; }
  static std::string TypeSchema() { return R"({"type":"Array"})"; }
};

// DurationTraits are those of numbers of nanoseconds.
template <typename T>
struct DurationTraits : TakenTraits<T> {
  static constexpr int32_t field_static_type_index = kTVMFFIInt;
  static void CopyToAnyView(const T& from, TVMFFIAny* to) { TakenTraits<T>::MoveToAny(from, to); }
  static std::string TypeStr() { return "int"; }
  static std::string TypeSchema() { return R"({"type":"int"})"; }
};

// ArgumentTraits let a function that Go returns have parameters that are Arguments.
template <typename T>
struct ArgumentTraits : ffi::TypeTraitsBase {
  static constexpr bool storage_enabled = false;
  static void CopyToAnyView(const T& from, TVMFFIAny* to) { *to = from.any; }
};

// RecordTraits says how a struct crosses as a map. TypeTraits<T>::Each visits the names of its fields, and the fields.
template <typename T>
struct RecordTraits : TakenTraits<T> {
  using Record = T;
  static constexpr int32_t field_static_type_index = kTVMFFIMap;
  static void MoveToAny(T from, TVMFFIAny* to) {
    ffi::Map<ffi::String, ffi::Any> map;
    ffi::TypeTraits<T>::Each(&from, [&](std::string_view name, const auto& field) { map.Set(ffi::String(name.data(), name.size()), Owned(field)); });
    ffi::TypeTraits<ffi::Map<ffi::String, ffi::Any>>::MoveToAny(std::move(map), to);
  }
  // TakeField takes the next value as a field. One that the struct does not have is an error: it would be lost.
  static void TakeField(std::string_view name, Values* from, T* to) {
    bool taken = false;
    ffi::TypeTraits<T>::Each(to, [&](std::string_view key, auto& field) {
      if (taken || key != name) return;
      field = Take<std::decay_t<decltype(field)>>(from);
      taken = true;
    });
    if (!taken) throw ffi::Error("TypeError", "the struct has no field \"" + std::string(name) + "\"", "");
  }
  static std::string TypeStr() { return "Map<str, Any>"; }
  static std::string TypeSchema() { return R"({"type":"Map"})"; }
};

// kTaken says that values of a type are taken apart, so that the library may return them in flat form.
template <typename T>
constexpr bool kTaken = std::is_same_v<T, std::string> || IsOptional<T>::value || IsVector<T>::value || IsSet<T>::value || IsMap<T>::value ||
                        IsTuple<T>::value || IsComplex<T>::value || IsTime<T>::value || IsStruct<T>::value || IsRecord<T>::value;

// Unpack converts a result.
template <typename R>
R Unpack(ffi::Any&& value) {
  if constexpr (std::is_void_v<R>) {
    return;
  } else if constexpr (std::is_same_v<R, ffi::Any>) {
    return std::move(value);
  } else if constexpr (kTaken<R> || kUnsigned<R>) {
    Values values{reinterpret_cast<const TVMFFIAny*>(&value), nullptr};
    return Take<R>(&values);
  } else if constexpr (IsIterator<R>::value || IsTyped<R>::value) {
    return R(std::move(value).cast<ffi::Function>());
  } else if constexpr (std::is_same_v<R, Fields>) {
    return R(value);
  } else {
    return std::move(value).cast<R>();
  }
}

template <typename R>
inline R InvokePacked(const Entry& entry, const ffi::AnyView* args, std::size_t count) {
  TVMFFIAny room[128];
  Returned result(room, sizeof room, kTaken<R>);
  if (entry.call(entry.self, reinterpret_cast<const TVMFFIAny*>(args), static_cast<int32_t>(count), &result.any) != 0) Raise(&result.any);
  if constexpr (kTaken<R>) {
    Values values = result.All();
    return Take<R>(&values);
  } else {
    return Unpack<R>(result.Move());
  }
}

// Invoke calls a function of the library.
template <typename R, typename... Args>
inline R Invoke(const Entry& entry, const Args&... args) {
  constexpr std::size_t count = sizeof...(Args);
  const ffi::AnyView packed[count == 0 ? 1 : count] = {View(args)...};
  return InvokePacked<R>(entry, packed, count);
}

// InvokeMany calls a function with as many further arguments as rest holds.
template <typename R, typename Rest, typename... Args>
inline R InvokeMany(const Entry& entry, const Rest& rest, const Args&... args) {
  std::vector<ffi::AnyView> packed = {View(args)...};
  for (int i = 0; i < static_cast<int>(rest.size()); i++) packed.push_back(View(rest[i]));
  return InvokePacked<R>(entry, packed.data(), packed.size());
}

inline Entry EntryOf(const TVMFFIObject* function) {
  TVMFFIObject* object = const_cast<TVMFFIObject*>(function);
  return {reinterpret_cast<ffi::FunctionObj*>(object)->safe_call, object};
}

// Forever returns the entry of a function that is never released, so that it outlives all
// static objects.
inline Entry Forever(const ffi::Function& function) {
  const TVMFFIObject* object = reinterpret_cast<const TVMFFIObject*>(function.get());
  TVMFFIObjectIncRef(const_cast<TVMFFIObject*>(object));
  return EntryOf(object);
}

inline Entry Global(const char* name) {
  return Forever(ffi::Function::GetGlobalRequired(name));
}

inline TVMFFIByteArray Bytes(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view Read(const TVMFFIByteArray& bytes) { return {bytes.data, bytes.size}; }

// TypeIndex returns the index of a type of the library, and keeps it.
inline int32_t TypeIndex(const char* key, std::atomic<int32_t>* kept) {
  const TVMFFIByteArray bytes = Bytes(key);
  int32_t index = 0;
  if (TVMFFITypeKeyToIndex(&bytes, &index) != 0) Raise();
  kept->store(index, std::memory_order_relaxed);
  return index;
}

inline bool IsInstance(int32_t index, int32_t target, bool final_type) {
  if (index == target) return true;
  if (final_type || index < target) return false;
  const TVMFFITypeInfo* want = TVMFFIGetTypeInfo(target);
  const TVMFFITypeInfo* have = TVMFFIGetTypeInfo(index);
  return have->type_depth > want->type_depth && have->type_ancestors[want->type_depth] == want;
}

// FindMethod returns a method of a type of the library.
inline Entry FindMethod(int32_t index, std::string_view name) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(index);
  for (int32_t i = 0; i < info->num_methods; i++) {
    if (Read(info->methods[i].name) == name) return EntryOf(info->methods[i].method.v_obj);
  }
  throw ffi::Error("TypeError", std::string(Read(info->type_key)) + " has no method " + std::string(name) + ": the header belongs to another version of its library", "");
}

// FindConstructor returns what makes objects of a type.
inline Entry FindConstructor(int32_t index) {
  const TVMFFIByteArray name = Bytes("__ffi_init__");
  const TVMFFITypeAttrColumn* column = TVMFFIGetTypeAttrColumn(&name);
  if (column != nullptr && index >= column->begin_index && index - column->begin_index < column->size) {
    const TVMFFIAny& any = column->data[index - column->begin_index];
    if (any.type_index == kTVMFFIFunction) return EntryOf(any.v_obj);
  }
  return FindMethod(index, "__ffi_init__");
}

// ClassObject is the struct of the objects of a class, which names it in the type table. T has the key, and waits for the library.
template <typename T, typename Parent>
struct ClassObject : Parent {
  static constexpr int32_t _type_depth = Parent::_type_depth + 1;
  static constexpr bool _type_mutable = true;
  static int32_t RuntimeTypeIndex() {
    static std::atomic<int32_t> kept{0};
    const int32_t index = kept.load(std::memory_order_relaxed);
    if (index != 0) return index;
    T::Wait();
    return TypeIndex(T::_type_key, &kept);
  }
  static int32_t _GetOrAllocRuntimeTypeIndex() { return RuntimeTypeIndex(); }
  static const Entry& Constructor() {
    static const Entry entry = FindConstructor(RuntimeTypeIndex());
    return entry;
  }
};

inline const TVMFFIFieldInfo* FindField(int32_t index, std::string_view name) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(index);
  for (int32_t i = 0; i < info->num_fields; i++) {
    if (Read(info->fields[i].name) == name) return &info->fields[i];
  }
  throw ffi::Error("TypeError", std::string(Read(info->type_key)) + " has no field " + std::string(name) + ": the header belongs to another version of its library", "");
}

// A Field reads and writes a field. A number, a bool or a duration is read in memory if the type table
// says that it has the form that the header knows; all else by the functions of the table.
template <typename T>
class Field {
 public:
  Field(int32_t index, const char* name) : info_(FindField(index, name)) {
    if constexpr (kPlain) {
      const int32_t kind = std::is_same_v<T, bool> ? kTVMFFIBool : std::is_floating_point_v<T> ? kTVMFFIFloat : kTVMFFIInt;
      // The value of a uint64 of Go may be a BigInt, so its type is not that of an int.
      const bool known = info_->field_static_type_index == kind || (kUnsigned<T> && info_->field_static_type_index == kTVMFFIOpaquePtr);
      direct_ = known && info_->size == static_cast<int64_t>(sizeof(T));
    }
  }
  T Get(const ffi::ObjectRef& object) const {
    char* at = At(object);
    if constexpr (kPlain) {
      if (direct_) {
        T value;
        std::memcpy(&value, at, sizeof(T));
        return value;
      }
    }
    ffi::Any value;
    if (info_->getter(at, reinterpret_cast<TVMFFIAny*>(&value)) != 0) Raise();
    return Unpack<T>(std::move(value));
  }
  template <typename V>
  void Set(const ffi::ObjectRef& object, const V& value) const {
    char* at = At(object);
    if constexpr (kPlain && !std::is_base_of_v<Argument, V>) {
      if (direct_) {
        std::memcpy(at, &value, sizeof(T));
        return;
      }
    }
    if constexpr (kUnsigned<V>) {
      Set(object, Owned(value));
      return;
    }
    const ffi::AnyView view = View(value);
    const TVMFFIAny* any = reinterpret_cast<const TVMFFIAny*>(&view);
    constexpr int64_t kSetterIsFunction = 1 << 11;
    if ((info_->flags & kSetterIsFunction) != 0) {
      Invoke<void>(EntryOf(reinterpret_cast<const TVMFFIObject*>(info_->setter)), static_cast<void*>(at), view);
    } else if (reinterpret_cast<int (*)(void*, const TVMFFIAny*)>(info_->setter)(at, any) != 0) {
      Raise();
    }
  }

 private:
  static constexpr bool kPlain = std::is_arithmetic_v<T> || IsDuration<T>::value;
  char* At(const ffi::ObjectRef& object) const {
    if (!object.defined()) {
      throw ffi::Error("ValueError", "the object is null: it has no field " + std::string(Read(info_->name)), "");
    }
    return reinterpret_cast<char*>(const_cast<ffi::Object*>(object.ffi::ObjectRef::get())) + info_->offset;
  }
  const TVMFFIFieldInfo* info_;
  bool direct_ = false;
};

// Self returns the object of a method, which must not be null.
inline const ffi::ObjectRef& Self(const ffi::ObjectRef& object, const char* method) {
  if (!object.ffi::ObjectRef::defined()) {
    throw ffi::Error("ValueError", "the object is null: it has no method " + std::string(method), "");
  }
  return object;
}

// Fields are the fields of an error of Go. One that is absent is zero, as in Go.
class Fields {
 public:
  explicit Fields(const ffi::Any& fields) {
    if (fields != nullptr) fields_ = fields.cast<ffi::Map<ffi::String, ffi::Any>>();
  }
  template <typename T>
  T Get(const char* name) const {
    const ffi::String key(name);
    if (fields_.count(key) != 0) return Unpack<T>(ffi::Any(fields_.at(key)));
    if constexpr (std::is_default_constructible_v<T>) {
      return T();
    } else {
      return Unpack<T>(ffi::Any());
    }
  }

 private:
  ffi::Map<ffi::String, ffi::Any> fields_;
};

// Keywords stands before arguments that go by name.
inline const ffi::Any& Keywords() {
  static const ffi::Any* sentinel = new ffi::Any(ffi::Function::GetGlobalRequired("ffi.GetKwargsObject")());
  return *sentinel;
}

// Raw is the reference of a new object of the right type.
struct Raw {
  ffi::ObjectRef object;
};

template <typename... Args>
inline Raw Construct(const Entry& constructor, const Args&... args) {
  return {Invoke<ffi::ObjectRef>(constructor, args...)};
}

// ReferenceTraits says how a class of this header becomes an Any. It does not need the class
// to be complete, so classes may contain containers of themselves.
template <typename T, typename Object>
struct ReferenceTraits : ffi::TypeTraitsBase {
  using Base = ffi::TypeTraits<ffi::ObjectRef>;
  static constexpr int32_t field_static_type_index = kTVMFFIObject;
  static void CopyToAnyView(const T& from, TVMFFIAny* to) { Base::CopyToAnyView(from, to); }
  static void MoveToAny(T from, TVMFFIAny* to) { Base::MoveToAny(ffi::ObjectRef(std::move(from)), to); }
  static bool CheckAnyStrict(const TVMFFIAny* from) {
    return from->type_index == kTVMFFINone ||
           (from->type_index >= kTVMFFIStaticObjectBegin && IsInstance(from->type_index, Object::RuntimeTypeIndex(), Object::_type_final));
  }
  static T CopyFromAnyViewAfterCheck(const TVMFFIAny* from) { return T(Raw{Base::CopyFromAnyViewAfterCheck(from)}); }
  static T MoveFromAnyAfterCheck(TVMFFIAny* from) { return T(Raw{Base::MoveFromAnyAfterCheck(from)}); }
  static std::optional<T> TryCastFromAnyView(const TVMFFIAny* from) {
    if (!CheckAnyStrict(from)) return std::nullopt;
    return CopyFromAnyViewAfterCheck(from);
  }
  static std::string TypeStr() { return Object::_type_key; }
  static std::string TypeSchema() { return "{\"type\":\"" + TypeStr() + "\"}"; }
};

// A StringEnum is an enum E of strings. Its values may be others than the members, as in Go.
template <typename E>
class StringEnum {
 public:
  StringEnum() = default;
  explicit StringEnum(ffi::String value) : value_(std::move(value)) {}
  /// The string.
  const ffi::String& value() const { return value_; }
  friend bool operator==(const E& a, const E& b) { return a.value() == b.value(); }
  friend bool operator!=(const E& a, const E& b) { return !(a == b); }
  friend bool operator<(const E& a, const E& b) { return a.value() < b.value(); }
  friend std::ostream& operator<<(std::ostream& os, const E& x) { return os << std::string(x.value()); }

 private:
  ffi::String value_;
};

// StringEnumTraits says how an enum of strings becomes an Any.
template <typename T>
struct StringEnumTraits : ffi::TypeTraitsBase {
  using Base = ffi::TypeTraits<ffi::String>;
  static void CopyToAnyView(const T& from, TVMFFIAny* to) { Base::CopyToAnyView(from.value(), to); }
  static void MoveToAny(T from, TVMFFIAny* to) { Base::MoveToAny(from.value(), to); }
  static bool CheckAnyStrict(const TVMFFIAny* from) { return Base::CheckAnyStrict(from); }
  static T CopyFromAnyViewAfterCheck(const TVMFFIAny* from) { return T(Base::CopyFromAnyViewAfterCheck(from)); }
  static T MoveFromAnyAfterCheck(TVMFFIAny* from) { return T(Base::MoveFromAnyAfterCheck(from)); }
  static std::optional<T> TryCastFromAnyView(const TVMFFIAny* from) {
    std::optional<ffi::String> text = Base::TryCastFromAnyView(from);
    if (!text.has_value()) return std::nullopt;
    return T(*std::move(text));
  }
  static std::string TypeStr() { return Base::TypeStr(); }
  static std::string TypeSchema() { return Base::TypeSchema(); }
};

// Iterator yields the values of a sequence of Go, once. It ends the sequence when it is
// destroyed or closed, also before the last value.
template <typename T>
class Iterator {
 public:
  explicit Iterator(ffi::Function function) : function_(std::move(function)) {}
  Iterator(Iterator&&) = default;
  Iterator& operator=(Iterator&&) = default;

  /// The next value, or nothing at the end.
  std::optional<T> next() {
    if (!function_.has_value()) return std::nullopt;
    ffi::Any value = Invoke<ffi::Any>(EntryOf(reinterpret_cast<const TVMFFIObject*>(function_->get())));
    if (value == nullptr) {
      close();
      return std::nullopt;
    }
    return std::get<0>(Unpack<std::tuple<T>>(std::move(value)));
  }
  /// Ends the sequence.
  void close() { function_.reset(); }

  struct End {};
  class Position {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = T*;
    using reference = T&;
    explicit Position(Iterator* from) : from_(from), value_(from->next()) {}
    T& operator*() { return *value_; }
    T* operator->() { return &*value_; }
    Position& operator++() {
      value_ = from_->next();
      return *this;
    }
    bool operator!=(End) const { return value_.has_value(); }
    bool operator==(End) const { return !value_.has_value(); }

   private:
    Iterator* from_;
    std::optional<T> value_;
  };
  Position begin() { return Position(this); }
  End end() { return End(); }

 private:
  std::optional<ffi::Function> function_;
};

// Values are the values of an object in a range-for, which keeps the iterator.
template <typename T>
class ValuesOf {
 public:
  explicit ValuesOf(Iterator<T> values) : values_(std::make_shared<Iterator<T>>(std::move(values))), at_(values_->begin()) {}
  T& operator*() { return *at_; }
  ValuesOf& operator++() {
    ++at_;
    return *this;
  }
  bool operator!=(typename Iterator<T>::End end) const { return at_ != end; }

 private:
  std::shared_ptr<Iterator<T>> values_;
  typename Iterator<T>::Position at_;
};

// Closing closes an object when it is destroyed. Errors of close are lost then: call close
// to see them.
template <typename T>
class ClosingOf {
 public:
  explicit ClosingOf(T object) : object_(std::move(object)) {}
  ClosingOf(const ClosingOf&) = delete;
  ClosingOf& operator=(const ClosingOf&) = delete;
  ~ClosingOf() {
    try {
      object_.tvmffi_close();
    } catch (...) {
    }
  }
  T& operator*() { return object_; }
  T* operator->() { return &object_; }

 private:
  T object_;
};

// Call is a call that runs in Go. Dropping it neither cancels it nor waits.
template <typename R>
class Call {
 public:
  Call(std::future<R> result, Entry cancel, ffi::Any kept) : result_(std::move(result)), cancel_(cancel), kept_(std::move(kept)) {}
  /// Waits for the result; throws what the function fails with.
  R get() { return result_.get(); }
  /// The future, to wait for a time.
  std::future<R>& future() { return result_; }
  /// Ends the context of the function, which returns when it looks at it.
  void cancel() const { Invoke<void>(cancel_); }

 private:
  std::future<R> result_;
  Entry cancel_;
  ffi::Any kept_;
};

template <typename R, typename... Args>
inline Call<R> Start(const Entry& start, const Args&... args) {
  auto promise = std::make_shared<std::promise<R>>();
  ffi::Function done = ffi::Function::FromPacked([promise](ffi::PackedArgs results, ffi::Any*) {
    try {
      if (results[1] != nullptr) Throw(results[1].cast<ffi::Error>());
      if constexpr (std::is_void_v<R>) {
        promise->set_value();
      } else {
        promise->set_value(Unpack<R>(ffi::Any(results[0])));
      }
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  });
  std::future<R> result = promise->get_future();
  ffi::Function cancel = Invoke<ffi::Function>(start, done, args...);
  const Entry entry = EntryOf(reinterpret_cast<const TVMFFIObject*>(cancel.get()));
  return Call<R>(std::move(result), entry, ffi::Any(std::move(cancel)));
}

}  // namespace FORM
}  // namespace tvmffi_go

namespace tvm {
namespace ffi {

template <typename T>
struct TypeTraits<T, std::enable_if_t<std::is_same_v<typename T::tvmffi_argument, ::tvmffi_go::FORM::Argument>>> : ::tvmffi_go::FORM::ArgumentTraits<T> {};
template <typename S>
struct TypeTraits<::tvmffi_go::FORM::Func<S>> : TypeTraits<TypedFunction<S>> {
  using Base = TypeTraits<TypedFunction<S>>;
  static ::tvmffi_go::FORM::Func<S> CopyFromAnyViewAfterCheck(const TVMFFIAny* from) { return Base::CopyFromAnyViewAfterCheck(from); }
  static ::tvmffi_go::FORM::Func<S> MoveFromAnyAfterCheck(TVMFFIAny* from) { return Base::MoveFromAnyAfterCheck(from); }
  static std::optional<::tvmffi_go::FORM::Func<S>> TryCastFromAnyView(const TVMFFIAny* from) { return Base::TryCastFromAnyView(from); }
};

// The types of the standard library that cross as others, so that callbacks may have them. Headers of several releases do
// the same.
#ifndef TVMFFI_GO_STANDARD_TYPES
#define TVMFFI_GO_STANDARD_TYPES
template <typename Rep, typename Period>
struct TypeTraits<std::chrono::duration<Rep, Period>> : ::tvmffi_go::FORM::DurationTraits<std::chrono::duration<Rep, Period>> {};
template <typename D>
struct TypeTraits<std::chrono::time_point<std::chrono::system_clock, D>> : ::tvmffi_go::FORM::TakenTraits<std::chrono::time_point<std::chrono::system_clock, D>> {};
template <typename T>
struct TypeTraits<std::complex<T>> : ::tvmffi_go::FORM::TakenTraits<std::complex<T>> {};
template <typename T, typename Less, typename Memory>
struct TypeTraits<std::set<T, Less, Memory>> : ::tvmffi_go::FORM::TakenTraits<std::set<T, Less, Memory>> {};
#endif

}  // namespace ffi
}  // namespace tvm

#pragma pop_macro("max")
#pragma pop_macro("min")

#endif  // TVMFFI_GO_FORM
