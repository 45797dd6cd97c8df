// Uses the header of a library that has every kind. Functions written here play those of
// Go: unless it says otherwise, they return their argument, or an array of several.
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/tvm_ffi.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>
#include <unordered_set>

// As some headers do. An older release has another tvmffi_go.hpp.
#define min(a, b) ((a) < (b) ? (a) : (b))
#include <older.hpp>
#include <kinds.hpp>
#undef min

namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;

#define CHECK(condition)                                                \
  if (!(condition)) {                                                   \
    std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
    std::exit(1);                                                       \
  }

// The library.

struct CounterObj : ffi::Object {
  int64_t n;
  ffi::String name;
  bool flag = true;
  ffi::Any next;
  ffi::Array<ffi::ObjectRef> all;
  CounterObj(int64_t number, ffi::String text, bool on) : n(number), name(text), flag(on) {}
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("kinds.Counter", CounterObj, ffi::Object);
};
struct ChildObj : CounterObj {
  float extra;
  ChildObj(int64_t number, float more, ffi::String text, bool on) : CounterObj(number, text, on), extra(more) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("kinds.Child", ChildObj, CounterObj);
};
struct OpaqueObj : ffi::Object {
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("kinds.Opaque", OpaqueObj, ffi::Object);
};

static int closed, stopped, waiting;

// Sequence yields 1, 2, 3, and notes its end.
struct Stop {
  ~Stop() { stopped++; }
};
template <typename F>
static ffi::Function sequence(F value) {
  auto at = std::make_shared<int64_t>(0);
  return ffi::Function::FromTyped([at, value, stop = std::make_shared<Stop>()]() -> ffi::Any {
    if (++*at > 3) return nullptr;
    return ffi::Array<ffi::Any>{ffi::Any(value(*at))};
  });
}

static ffi::Any self(ffi::PackedArgs args) { return args.size() > 0 ? ffi::Any(args[0]) : ffi::Any(); }

static void types() {
  refl::ObjectDef<CounterObj>(refl::init(false))
      .def_rw("n", &CounterObj::n)
      .def_rw("class", &CounterObj::name)
      .def_ro("flag", &CounterObj::flag)
      .def_rw("next", &CounterObj::next)
      .def_rw("all", &CounterObj::all)
      .def("add", [](CounterObj* c, int64_t x) { return c->n += x; })
      .def("get", [](CounterObj*, ffi::String key) { return "<" + key + ">"; })
      .def("defined", [](CounterObj*) { return false; })
      .def("Counter", [](CounterObj*) {})
      .def("operator", [](CounterObj*, int64_t, int64_t) { return 2; })
      .def("both", [](ffi::ObjectRef own) { return ffi::Array<ffi::Any>{own, nullptr}; })
      .def("close", [](CounterObj*) { closed++; })
      .def("len", [](CounterObj*) { return 5; })
      .def("string", [](CounterObj*) { return "a counter"; })
      .def("twice", [](CounterObj* c) { return 2 * c->n; })
      .def("values", [](ffi::ObjectRef own) { return sequence([own](int64_t) { return ffi::Any(own); }); });
  refl::TypeAttrDef<CounterObj>().attr("__ffi_init__", ffi::Function::FromPacked([](ffi::PackedArgs args, ffi::Any* to) {
    auto object = ffi::make_object<CounterObj>(args[0].cast<int64_t>(), args[1].cast<ffi::String>(), args[2].cast<bool>());
    CHECK(args.size() == 6 && args[3].cast<ffi::ObjectRef>().same_as(ffi::Function::GetGlobalRequired("ffi.GetKwargsObject")().cast<ffi::ObjectRef>()));
    CHECK(args[4].cast<ffi::String>() == "next");
    object->next = args[5];
    *to = ffi::ObjectRef(object);
  }));
  refl::ObjectDef<ChildObj>(refl::init(false)).def_rw("extra", &ChildObj::extra);
  refl::TypeAttrDef<ChildObj>().attr("__ffi_init__", ffi::Function::FromPacked([](ffi::PackedArgs args, ffi::Any* to) {
    *to = ffi::ObjectRef(ffi::make_object<ChildObj>(args[0].cast<int64_t>(), args[1].cast<float>(), args[2].cast<ffi::String>(), args[3].cast<bool>()));
  }));
  refl::ObjectDef<OpaqueObj>(refl::init(false));
  refl::TypeAttrDef<OpaqueObj>().attr("__ffi_init__", ffi::Function::FromPacked([](ffi::PackedArgs args, ffi::Any* to) {
    CHECK(args.size() == 2 && args[1].cast<int64_t>() == 3);
    *to = ffi::ObjectRef(ffi::make_object<OpaqueObj>());
  }));
  refl::GlobalDef().def("kinds._async", [](ffi::String) {
    return ffi::Function::FromPacked([](ffi::PackedArgs args, ffi::Any* to) {
      ffi::Function done = args[0].cast<ffi::Function>();
      ffi::Any value(args[args.size() - 1]);
      std::thread([done, value] {
        if (auto n = value.as<int64_t>()) {
          done(*n + 1, nullptr);
        } else {
          done(nullptr, ffi::Error("kinds.NotFoundError", "later", ""));
        }
      }).detach();
      *to = ffi::Function::FromTyped([] { waiting++; });
    });
  });
}

static ffi::Any play(const std::string& name, ffi::PackedArgs args) {
  if (name == "fail") throw ffi::Error(args[0].cast<std::string>(), "as asked", "");
  if (name == "_error_fields" && args[0].cast<ffi::Error>().message() == "bare") return nullptr;
  if (name == "_error_fields") return ffi::Map<ffi::String, ffi::Any>{{"name", "it"}, {"kind", 8}};
  if (name == "_error_new") {
    auto fields = args[1].cast<ffi::Map<ffi::String, ffi::Any>>();
    CHECK(args[2] == nullptr && fields.size() == 3);
    return ffi::Error(args[0].cast<std::string>(), "new " + fields["name"].cast<std::string>(), "");
  }
  if (name == "pair" || name == "named") return ffi::Array<ffi::Any>{args[0], "two"};
  if (name == "numbers") return sequence([](int64_t n) { return ffi::Any(n); });
  if (name == "pairs") return sequence([](int64_t n) { return ffi::Array<ffi::Any>{n, "x"}; });
  if (name == "stream") return ffi::Array<ffi::Any>{sequence([](int64_t n) { return ffi::Any(n); }), ffi::Function::FromTyped([](int64_t n) { return n + 1; }), args[0]};
  if (name == "streams") return ffi::Array<ffi::Any>{args[0], sequence([](int64_t n) { return ffi::Array<ffi::Any>{n, "x"}; })};
  if (args.size() < 2) return self(args);
  ffi::Array<ffi::Any> all;
  for (int i = 0; i < args.size(); i++) all.push_back(args[i]);
  return all;
}

static int safe(const char* name, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  *reinterpret_cast<ffi::Any*>(result) = play(name, ffi::PackedArgs(reinterpret_cast<const ffi::AnyView*>(args), count));
  TVM_FFI_SAFE_CALL_END();
}

#define PLAY(name)                                                                                       \
  extern "C" int kinds__tvm_ffi_##name(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) { \
    return safe(#name, args, count, result);                                                             \
  }
#include <symbols.inc>

extern "C" int kinds__tvm_ffi(void) {
  static const bool once = (types(), true);
  return once ? 0 : -1;
}

// The program.

template <typename F>
static ffi::Error failure(F f) {
  try {
    f();
  } catch (const ffi::Error& e) {
    return e;
  }
  std::puts("no error");
  std::exit(1);
}

static int64_t size(const ffi::Any& all) { return static_cast<int64_t>(all.cast<ffi::Array<ffi::Any>>().size()); }

static std::string text(const std::vector<unsigned char>& bytes) { return std::string(bytes.begin(), bytes.end()); }

static void values() {
  const std::string zero("a\0b", 3);
  CHECK(kinds::echo_any("x").cast<std::string>() == "x" && kinds::echo_any(nullptr) == nullptr);
  CHECK(kinds::echo_flag(true) && kinds::echo_i8(-8) == -8 && kinds::echo_u64(9) == 9 && kinds::echo_f32(0.5f) == 0.5f && kinds::echo_f64(1) == 1);
  CHECK(kinds::echo_text("abc") == "abc" && std::string(kinds::echo_text(zero)) == zero && kinds::echo_text(std::string_view("abcd", 2)) == "ab");
  CHECK(text(kinds::echo_bytes(zero)) == zero && kinds::echo_bytes(kinds::echo_bytes("long enough")).size() == 11 && kinds::echo_bytes({"xyz", 2}).size() == 2);
  CHECK(kinds::echo_dtype(ffi::StringToDLDataType("int8")).bits == 8 && kinds::echo_device({kDLCPU, 1}).device_id == 1);
  int here = 0;
  CHECK(kinds::echo_pointer(&here) == &here);
  CHECK(kinds::echo_optional(5).value() == 5 && !kinds::echo_optional(std::nullopt).has_value());
  CHECK(kinds::echo_optional_text("x").value() == "x" && !kinds::echo_optional_text(std::nullopt).has_value() && !kinds::echo_optional_text(nullptr).has_value());
  CHECK(kinds::echo_optional_bytes("x").value().size() == 1 && !kinds::echo_optional_bytes(std::nullopt).has_value());
  CHECK(kinds::echo_optional_any(1).cast<int>() == 1 && !kinds::echo_optional_class(std::nullopt).has_value());
  auto [n, word] = kinds::echo_tuple({1, "one"});
  CHECK(n == 1 && word == "one");
  CHECK(kinds::echo_sequence({"a", "b"})[1] == "b" && kinds::echo_sequence(std::vector<std::string>{"c"})[0] == "c" && kinds::echo_sequence({}).empty());
  CHECK(kinds::echo_mapping({{"a", {1, 2}}})["a"][1] == 2);
  CHECK((kinds::echo_mapping(std::map<std::string, std::vector<int64_t>>{{"b", {3}}})["b"][0] == 3));
  CHECK(kinds::echo_list({1}).size() == 1 && kinds::echo_map({{"a", 1}})["a"] == 1 && kinds::echo_dict({{"a", 1}})["a"] == 1);
  CHECK(kinds::echo_array_of_any({1, "x"}).size() == 2 && kinds::echo_map_of_any({{1, "x"}}).size() == 1);
  CHECK(kinds::echo_shape({2, 3})[1] == 3 && kinds::echo_color(kinds::Color::EOF_) == kinds::Color::EOF_);
  constexpr kinds::Access both = kinds::Access::READ | kinds::Access::WRITE;
  kinds::Access some = both & ~kinds::Access::READ;
  CHECK(both == kinds::Access(3) && some == kinds::Access::WRITE && (some ^= both) == kinds::Access::READ && (some & kinds::Access::WRITE) == kinds::Access::NONE);
  CHECK(kinds::echo_mode(kinds::Mode::FAST).value() == "fast\"\\?\n" && kinds::Mode::ZERO.value().size() == 3);
  CHECK(kinds::echo_sequence_of_modes({kinds::Mode::ZERO, kinds::Mode("free")})[1] == kinds::Mode("free"));
  CHECK(kinds::echo_error_value(ffi::Error("ValueError", "m", "")).message() == "m");
  CHECK(kinds::echo_callable([](int64_t x, ffi::String) { return x; })(7, "x") == 7);
  bool called = false;
  kinds::echo_callback_of_record([&](kinds::Tree t) { called = t.value == 3; })(ffi::Map<ffi::String, ffi::Any>{{"value", 3}});
  CHECK(called);
  CHECK(kinds::echo_function(ffi::Function::FromTyped([] { return 4; }))().cast<int>() == 4);
  CHECK(ffi::Any(kinds::echo_big(kinds::detail::BigInt(int64_t{1}))).cast<int64_t>() == 1);
#if __has_include(<tvm/ffi/big_int.h>)
  constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
  using Numbers = std::vector<uint64_t>;
  CHECK(kinds::echo_u64(most) == most && kinds::echo_u64(most >> 1) == most >> 1 && kinds::echo_access(~kinds::Access::READ) == ~kinds::Access::READ);
  CHECK(kinds::echo_optional_u64(most).value() == most && !kinds::echo_optional_u64(std::nullopt).has_value() && kinds::echo_optional_u64(7).value() == 7);
  CHECK(kinds::echo_u64s({1, most}) == (Numbers{1, most}) && kinds::echo_u64s(Numbers{most}) == Numbers{most} && kinds::echo_u64s(ffi::Array<uint64_t>{7}) == Numbers{7});
  CHECK(kinds::echo_set_of_u64({most, 1}) == (std::set<uint64_t>{1, most}));
  CHECK(kinds::echo_u64_by_u64({{most, 1}}) == (std::map<uint64_t, uint64_t>{{most, 1}}) && kinds::echo_u64_by_u64(std::map<uint64_t, uint64_t>{{1, most}}).at(1) == most);
  const auto [number, maybe] = kinds::echo_tuple_of_u64({most, most});
  CHECK(number == most && maybe.value() == most);
  // Not every unsigned type of 64 bits is a uint64_t, which alone TVM-FFI looks at.
  const auto unsigned_of = [](const ffi::Any& x) { return x.cast<ffi::BigInt>().as<uint64_t>().value(); };
  CHECK(unsigned_of(kinds::echo_any(most)) == most && unsigned_of(kinds::echo_any(~0ull)) == most && unsigned_of(kinds::echo_any(~0ul)) == most && unsigned_of(kinds::echo_any(ffi::Optional<unsigned long long>(~0ull))) == most);
  const auto all = [&](const ffi::Any& x, int64_t i) { return unsigned_of(x.cast<ffi::Array<ffi::Any>>()[i]); };
  CHECK(all(kinds::ints(1, ~0ull), 1) == most && all(kinds::anys(1, ~0ull), 1) == most && all(kinds::packed(1, ~0ull), 1) == most);
  CHECK(unsigned_of(kinds::echo_sequence_of_any(std::vector<unsigned long long>{~0ull})[0]) == most);
#endif
  CHECK(failure([] { kinds::echo_callable([](int64_t, ffi::String) { return ~0ull; })(7, "x"); }).message() == "18446744073709551615 for the result of a callback does not fit an int of 8 bytes");
  CHECK(kinds::echo_callable([](int64_t, ffi::String) { return 7ull; })(7, "x") == 7);
  CHECK(std::string(kinds::echo_any(zero).cast<ffi::String>()) == zero && std::string(kinds::echo_optional_any(zero).cast<ffi::String>()) == zero);
  CHECK(std::string(kinds::echo_any(ffi::Optional<std::string>(zero)).cast<ffi::String>()) == zero && kinds::echo_any(ffi::Optional<std::string>()) == nullptr);
  const auto texts = kinds::anys(1, zero).cast<ffi::Array<ffi::Any>>();
  CHECK(std::string(texts[1].cast<ffi::String>()) == zero);
  CHECK(kinds::echo_object(ffi::Shape({1})).as<ffi::ShapeObj>() != nullptr);
  failure([] { kinds::echo_module(ffi::Module::LoadFromFile("/no/such/library.so")); });
}

static void standard() {
  using namespace std::chrono_literals;
  using std::chrono::system_clock;
  using Texts = std::set<std::string>;
  using C = std::complex<float>;
  static_assert(std::is_same_v<decltype(kinds::echo_duration(5s)), std::chrono::nanoseconds> && std::is_same_v<decltype(kinds::echo_time({})), system_clock::time_point>);
  static_assert(std::is_same_v<decltype(kinds::echo_complex(1)), C> && std::is_same_v<decltype(kinds::echo_set({})), Texts>);
  const system_clock::time_point now = system_clock::now(), early(-1500ms), least(system_clock::time_point::min() + 2s);
  CHECK(kinds::echo_duration(-5ms) == -5ms && kinds::echo_complex({1, 2}) == C(1, 2) && kinds::echo_complex(2) == C(2));
  for (const auto t : {now, early, least, system_clock::time_point()}) CHECK(kinds::echo_time(t) == t);
  const auto form = ffi::Any(early).cast<ffi::Array<int64_t>>();
  CHECK(form[0] == -2 && form[1] == 500000000 && form[2] == 0);
  const std::unordered_set<std::string> loose = {"b", "a"};
  CHECK(kinds::echo_set({"b", "a", "b"}) == Texts({"a", "b"}) && kinds::echo_set(loose).size() == 2 && kinds::echo_set(std::vector<const char*>{"x"}).count("x") == 1);
  CHECK(kinds::echo_set(Texts()).empty() && *kinds::echo_set_of_colors({kinds::Color::RED}).begin() == kinds::Color::RED);

  CHECK(kinds::echo_optional_duration(5s).value() == 5s && !kinds::echo_optional_duration(std::nullopt).has_value() && !kinds::echo_optional_duration(nullptr).has_value());
  CHECK(kinds::echo_optional_time(std::optional(now)) == now && !kinds::echo_optional_time(std::optional<system_clock::time_point>()));
  CHECK(kinds::echo_optional_complex(ffi::Optional<C>(C(1, 2))) == C(1, 2) && kinds::echo_optional_complex(1.5) == C(1.5f) && !kinds::echo_optional_complex(ffi::Optional<C>()));
  CHECK(kinds::echo_optional_set(Texts{"a"}).value().size() == 1 && kinds::echo_optional_set(loose)->size() == 2 && !kinds::echo_optional_set(nullptr));

  CHECK(kinds::echo_times({now, std::nullopt})[0].value() == now && !kinds::echo_times(std::vector<std::optional<system_clock::time_point>>{std::nullopt})[0].has_value());
  CHECK(kinds::echo_waits({{"a", 5min}})["a"] == 5min && kinds::echo_waits(std::map<std::string, std::chrono::hours>{{"b", 2h}})["b"] == 2h);
  CHECK(kinds::echo_sets({{"a"}, {"b", "c"}})[1].size() == 2 && kinds::echo_sets(std::vector{loose})[0] == Texts({"a", "b"}));
  CHECK(kinds::echo_complexes(std::vector<double>{1, 2})[1] == C(2) && kinds::echo_complexes(std::vector<std::complex<double>>{{1, 2}})[0] == C(1, 2));
  auto [length, when, factor, tags] = kinds::echo_mixed({1h, now, {0, 1}, {"t"}});
  CHECK(length == 1h && when == now && factor == C(0, 1) && tags.size() == 1);

  const kinds::Plan plan = kinds::echo_plan({2h, now, {1, 1}, {"a"}, early, {now, early}});
  CHECK(plan.length == 2h && plan.when == now && plan.factor == C(1, 1) && plan.tags == Texts({"a"}) && plan.until == early && plan.days[1] == early);
  CHECK(kinds::Plan().length == -1500ns && kinds::echo_plan({}).when == system_clock::time_point() && !kinds::echo_plan({}).until.has_value());

  auto clock = kinds::echo_clock([&](system_clock::time_point t, std::chrono::nanoseconds d, ffi::Optional<system_clock::time_point> last) {
    return last.has_value() ? last.value() : std::chrono::time_point_cast<system_clock::duration>(t + d);
  });
  CHECK(clock(early, 2s, std::nullopt) == early + 2s && clock(early, 2s, now) == now);
  CHECK(kinds::echo_turn([](C x, ffi::Optional<std::chrono::nanoseconds> d) { return d.has_value() ? x * C(0, 1) : x; })(2.0, 5ms) == C(0, 2));
  CHECK(kinds::echo_choose([](const Texts& a, const ffi::Optional<Texts>& b) { return b.has_value() ? b.value() : a; })({"x", "y"}, nullptr).size() == 2);
  int ticks = 0;
  for (const auto t : kinds::echo_ticks(sequence([&](int64_t n) { return now + std::chrono::seconds(n); }))) CHECK(t == now + std::chrono::seconds(++ticks));
  CHECK(ticks == 3 && stopped-- == 1);

  CHECK(size(kinds::durations(1, 1s, 2ms)) == 3 && size(kinds::durations(1, {1s})) == 2 && size(kinds::instants(1, now, early)) == 3);
  CHECK(size(kinds::waves(1, 1.5, 2, C(1, 2))) == 4 && size(kinds::waves(1, {1.5f})) == 2 && size(kinds::groups(1, Texts{"a"}, Texts())) == 3);

  // The zero time of Go, a year that no clock has, and what is not a time.
  for (const int64_t seconds : {int64_t{-62135596800}, int64_t{1} << 55}) {
    const ffi::Array<ffi::Any> far{seconds, 0, 0};
    const ffi::Error e = failure([&] { ffi::Any(far).cast<system_clock::time_point>(); });
    CHECK(e.kind() == "ValueError" && e.message().find(std::to_string(seconds)) != std::string::npos);
    CHECK(failure([&] { ffi::Any(ffi::Map<ffi::String, ffi::Any>{{"when", far}}).cast<kinds::Plan>(); }).kind() == "ValueError");
  }
  CHECK(failure([&] { ffi::Any(ffi::Array<ffi::Any>{1, 2}).cast<system_clock::time_point>(); }).kind() == "TypeError");
}

static void tensors() {
  const std::vector<float> numbers = {1, 2, 3};
  auto sum = [](const kinds::detail::Slice<float>& x) {
    const DLTensor* t = static_cast<const DLTensor*>(x.any.v_ptr);
    CHECK(x.any.type_index == kTVMFFIDLTensorPtr && t->ndim == 1 && t->dtype.bits == 32 && t->dtype.code == kDLFloat && t->strides[0] == 1);
    float all = 0;
    for (int64_t i = 0; i < t->shape[0]; i++) all += static_cast<const float*>(t->data)[i];
    return all;
  };
  CHECK(sum(numbers) == 6 && sum({numbers.data(), 2}) == 3 && sum(std::array<float, 1>{5}) == 5);
}

static void records() {
  kinds::Limits limits = kinds::echo_record({1.5f, "c", kinds::Color::BIG, ffi::String("note")});
  CHECK(limits.low == 1.5f && limits.class_ == "c" && limits.color == kinds::Color::BIG && limits.note.value() == "note");
  CHECK(kinds::Limits().class_ == "any" && !kinds::echo_record({}).note.has_value());
  kinds::Tree tree{1, kinds::Tree{2, nullptr, {}}, {kinds::Tree{3, nullptr, {}}}};
  kinds::Tree same = kinds::echo_tree(tree);
  CHECK(same.value == 1 && same.left.cast<kinds::Tree>().value == 2 && same.more[0].value == 3);
  CHECK(kinds::echo_optional_record(tree).value().more.size() == 1 && !kinds::echo_optional_record(std::nullopt).has_value());
  CHECK(kinds::echo_sequence_of_records({tree, tree})[1].value == 1);
}

static void names() {
  CHECK(kinds::delete_(1).cast<int>() == 1 && kinds::EOF_(2).cast<int>() == 2 && kinds::min(3).cast<int>() == 3 && kinds::errno_(4).cast<int>() == 4);
  CHECK(kinds::detail_(5).cast<int>() == 5 && kinds::load_(6).cast<int>() == 6 && kinds::Counter_(7).cast<int>() == 7 && kinds::counter(8).cast<int>() == 8);
  CHECK(size(kinds::names(1, 2, 3, 4, kinds::Color::RED, kinds::Color::RED, 7, "8", "9")) == 9);
  kinds::nothing();
  auto all = kinds::defaults().cast<ffi::Array<ffi::Any>>();
  CHECK(all[0].cast<int64_t>() == std::numeric_limits<int64_t>::min() && all[1].cast<float>() == 0.1f && std::isnan(all[2].cast<double>()) && all[3].cast<bool>());
  CHECK(all[4].cast<std::string>() == std::string("\0?\"\n\303\244", 6) && all[5].cast<DLDataType>().bits == 32 && all[6] == nullptr && all[7].cast<int>() == 5);
  CHECK(all[9].cast<int>() == 9 && all[11].cast<std::string>() == "other" && all[13].cast<double>() < 0);
  CHECK(all[14].cast<int64_t>() == all[0].cast<int64_t>() && all[15].cast<int>() == 5);
}

static void calls() {
  CHECK(kinds::ints(1).cast<int>() == 1 && size(kinds::ints(1, 2, short{3})) == 3 && size(kinds::ints(1, std::vector<int64_t>{2, 3, 4})) == 4);
  CHECK(size(kinds::floats(1, 2, 3.5)) == 3 && size(kinds::floats(1, {1.5f})) == 2);
  CHECK(size(kinds::texts(1, "a", std::string("b"), ffi::String("c"))) == 4 && size(kinds::texts(1, {"a", "b"})) == 3);
  CHECK(size(kinds::modes(1, kinds::Mode::FAST)) == 2 && size(kinds::anys(1, "x", 2.5, nullptr)) == 4 && size(kinds::packed(1, "two")) == 2);
  const ffi::AnyView three[] = {1, 2, 3};
  CHECK(size(kinds::packed(ffi::PackedArgs(three, 3))) == 3 && size(kinds::anys(0, ffi::PackedArgs(three, 3))) == 4);
  auto [one, two] = kinds::pair(1);
  kinds::namedResult named = kinds::named(2);
  CHECK(one == 1 && two == "two" && named.class_ == 2 && named.text == "two");
  int64_t sum = 0;
  for (int64_t x : kinds::numbers(0)) sum += x;
  CHECK(sum == 6 && stopped == 1);
  for (auto [number, text] : kinds::pairs(0)) {
    CHECK(number == 1 && text == "x");
    break;  // ends the sequence
  }
  CHECK(stopped == 2);
  auto stream = kinds::stream(7);
  for (int64_t x : stream.all) sum += x;
  CHECK(sum == 12 && stream.next(1) == 2 && stream.n == 7);
  auto [first, rest] = kinds::streams(8);
  for (auto [number, text] : rest) CHECK(number > 0 && text == "x" && first == 8);
  CHECK(kinds::slow(1) == 1);
  auto call = kinds::slow_async(41);
  call.cancel();
  CHECK(call.get() == 42 && waiting == 1);
}

static void errors() {
  {
    // The classes of a plugin end with it, in any order.
    using kinds::detail::Thrower;
    const auto raise = [](const ffi::Error& error) { throw error; };
    auto first = std::make_unique<Thrower>("plugin.First", raise), second = std::make_unique<Thrower>("plugin.Second", raise);
    CHECK(Thrower::Of("plugin.First") != nullptr && Thrower::Of("plugin.Second") != nullptr && Thrower::Of("plugin.Third") == nullptr);
    first.reset();
    CHECK(Thrower::Of("plugin.First") == nullptr && Thrower::Of("plugin.Second") != nullptr);
    second.reset();
    CHECK(Thrower::Of("plugin.Second") == nullptr && Thrower::Of("kinds.NotFoundError") != nullptr);
  }
  try {
    kinds::fail("kinds.NotFoundError");
    CHECK(false);
  } catch (const kinds::NotFoundError& e) {
    CHECK(e.name() == "it" && e.kind_() == 8 && e.kind() == "kinds.NotFoundError" && e.message() == "as asked" && !e.near().has_value());
  }
  CHECK(failure([] { kinds::fail("ValueError"); }).kind() == "ValueError");
  kinds::NotFoundError own("key");
  CHECK(own.message() == "new key" && own.kind() == "kinds.NotFoundError");
  CHECK(kinds::NotFoundError(ffi::Error("kinds.NotFoundError", "bare", "")).name() == "");
  // It passes through functions as the same error.
  auto thrower = ffi::Function::FromTyped([&] { throw own; });
  CHECK(failure([&] { thrower(); }).same_as(own));
}

static void objects() {
  kinds::Counter c(1);
  CHECK(c.n() == 1 && c.class_() == "c" && c.flag() && c.next() == nullptr && c.twice() == 2);
  c.set_n(5);
  c.set_class("a longer text than seven");
  c.set_all({c, c});
  c.set_next("x");
  CHECK(c.n() == 5 && c.class_() == "a longer text than seven" && c.all()[1].same_as(c) && c.next().cast<std::string>() == "x");
  c.set_all({});
  CHECK(c.add() == 6 && c.add(10) == 16 && c.get("key") == "<key>" && c.get() != nullptr && !c.defined_() && c.operator_(1, 2) == 2 && c.operator_({1, 2}) == 2);
  c.Counter_();
  auto both = c.both();
  CHECK(both.a.same_as(c) && !both.b.has_value() && c.size() == 5);
  int seen = 0;
  for (const kinds::Counter& x : c) seen += x.same_as(c) ? 1 : 0;
  CHECK(seen == 3);
  {
    kinds::Counter::Closing guard(c);
    guard->add();
  }
  CHECK(closed == 1 && c.n() == 17);
  kinds::Child child(1, 2.5f);
  CHECK(child.extra() == 2.5f && child.add(1) == 2);
  kinds::Counter base = child;
  CHECK(base.as<kinds::Child>()->extra() == 2.5f && !c.as<kinds::Child>().has_value());
  CHECK(ffi::Any(base).cast<kinds::Child>() != nullptr && kinds::echo_array({c, child}).size() == 2 && kinds::echo_class_(c).same_as(c));
  kinds::Größe made = kinds::Größe::make(nullptr);
  CHECK(made != nullptr && kinds::None(nullptr) == nullptr);
  CHECK(failure([] { kinds::Counter(nullptr).n(); }).kind() == "ValueError");
  CHECK(failure([] { kinds::Counter(nullptr).add(); }).message() == "the object is null: it has no method add");
  failure([] { kinds::Foreign(1); });
  std::unordered_set<kinds::Counter> set = {c};
  CHECK(set.count(c) == 1 && c == c && !(c < c));
  std::ostringstream os;
  os << c << kinds::Mode("m");
  CHECK(!os.str().empty());
}

int main() {
  values();
  standard();
  tensors();
  records();
  names();
  calls();
  errors();
  objects();
  std::puts("all right");
}
