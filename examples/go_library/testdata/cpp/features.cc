// A C++ program that uses what headers of Go libraries have beside plain functions: several
// results, variadic functions, defaults, sequences, opaque classes, enums, declared errors,
// calls that can be cancelled. It links with golib, classes
// and paint.
#include <classes.hpp>
#include <golib.hpp>
#include <paint.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace ffi = tvm::ffi;

#define CHECK(condition)                                                \
  if (!(condition)) {                                                   \
    std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
    std::exit(1);                                                       \
  }

// equal prints both texts if they differ.
static bool equal(const std::string& found, const char* want) {
  if (found == want) return true;
  std::printf("found %s\n", found.c_str());
  return false;
}

template <typename F>
std::string failure(F f) {
  try {
    f();
  } catch (const ffi::Error& e) {
    return e.kind() + ": " + e.message();
  }
  return "no error";
}

static void functions() {
  auto [quotient, remainder] = golib::div_mod(17, 5);
  CHECK(quotient == 3 && remainder == 2 && golib::div_mod(7, 2).quotient == 3);
  CHECK(equal(failure([] { golib::div_mod(1, 0); }), "ValueError: b is zero"));
  CHECK(golib::total(2) == 0 && golib::total(2, 1, 2, 3) == 12 && golib::total(0.5, std::vector<int8_t>{4}) == 2);
  CHECK(equal(failure([] { golib::total(1, 1000); }), "TypeError: total(numbers[0]=...): expected an int from -128 to 127, got 1000"));
  CHECK(golib::repeat("a") == "a, a" && golib::repeat("a", 3, "-") == "a-a-a" && golib::repeat("abc", 2, "", 4) == "abca");
  // Containers of the standard library may hold others.
  const std::map<std::string, std::vector<std::vector<int>>> rows = {{"row", {{3, 1, 2}}}};
  CHECK(golib::sorted(rows)["row"][0][0] == 1);
  // The compiler counts arguments, so a wrong count needs the function of the registry.
  auto bare = ffi::Function::GetGlobalRequired("golib.add");
  CHECK(equal(failure([&] { bare(1); }), "TypeError: add() takes 2 arguments (a, b), got 1: b is missing"));
  CHECK(equal(failure([&] { bare(1, 2, 3); }), "TypeError: add() takes 2 arguments (a, b), got 3"));
}

// values are texts, bytes and containers that the library writes into the memory of the header, or into its own.
static void values() {
  const std::string odd("a\0 longer text \303\244", 17);
  for (const std::string& text : {std::string(), std::string("x"), odd, std::string(2040, 'x'), std::string(2 << 20, 'y')}) {
    const std::vector<unsigned char> bytes(text.begin(), text.end());
    CHECK(text.empty() || golib::greet(text) == "hello, " + text);
    CHECK(golib::reversed(bytes, 2) == bytes && golib::word_count({text}).size() == (text.empty() ? 0u : text == odd ? 4u : 1u));
    const std::vector<paint::Layer> layers = paint::layers(3, text);
    CHECK(layers.size() == 3 && !layers[0].under.has_value() && !layers[0].note.has_value() && layers[0].extra.cast<std::string>() == text);
    const paint::Layer& top = layers[2];
    CHECK(top.name == text && top.data == bytes && top.note == text && top.size == (std::tuple<int64_t, std::optional<double>>{0, std::nullopt}));
    CHECK(top.extra.cast<ffi::Array<ffi::String>>()[0] == text && top.under->size() == 2 && (*(*top.under)[1].under)[0].data == bytes);
  }
  const uint64_t most = std::numeric_limits<uint64_t>::max(), fnv = 14695981039346656037u;
  CHECK(golib::hash("a") == 0xAF63DC4C8601EC8Cu && golib::hash("", most) == most && golib::hash("", 7) == 7);
  CHECK(golib::hashes("", "a").at(fnv) == std::vector<std::string>{""} && static_cast<uint64_t>(golib::started()) == fnv && golib::started(golib::Basis::SUM) == golib::Basis::SUM);
  const auto sum = [](uint64_t a, uint64_t b) { return a + b; };
  CHECK(golib::mix({1, 2}, sum, 3).hash == 6 && golib::mix(std::vector<uint64_t>{}, sum, most).hash == most && !golib::mix({}, sum).first.has_value());
  CHECK(failure([&] { golib::mix({1}, sum, most); }).find("ffi.BigInt") != std::string::npos);  // ffi::TypedFunction takes none
  CHECK(equal(failure([] { golib::total(1, std::vector<int>{1000}); }), "TypeError: 1000 in a container does not fit an int of 1 bytes"));
  CHECK(equal(failure([&] { golib::mix(std::vector<int>{-1}, sum, 3); }), "TypeError: -1 in a container does not fit an int of 8 bytes"));
  CHECK(equal(failure([&] { golib::mix(std::vector<double>{1.9}, sum, 3); }), "TypeError: found the float 1.9 in a container, expected an int"));
  CHECK(golib::mix(std::vector<int>{1, 2}, sum, 3).hash == 6);
  using Bytes = golib::detail::Sequence<ffi::Optional<int8_t>>;
  const Bytes known(std::vector<std::optional<int>>{1, std::nullopt, -128});
  CHECK(known.values().size() == 3 && known.values()[1] == nullptr && known.values()[2].cast<int>() == -128);
  CHECK(equal(failure([] { Bytes x(std::vector<std::optional<int>>{std::nullopt, 128}); }), "TypeError: 128 in a container does not fit an int of 1 bytes"));
  CHECK(equal(failure([] { Bytes x(std::vector<std::optional<double>>{1.9}); }), "TypeError: found the float 1.9 in a container, expected an int"));
  CHECK(equal(failure([] { Bytes x(std::vector<double>{2.5}); }), "TypeError: found the float 2.5 in a container, expected an int"));
  using Table = golib::detail::Mapping<ffi::String, ffi::Map<int64_t, ffi::Optional<float>>>;
  using Row = std::multimap<int, std::optional<double>>;
  CHECK(equal(failure([] { Table x(std::map<std::string, Row>{{"a", {{1, 1e300}}}}); }), "TypeError: 1e+300 in a container does not fit a float of 4 bytes"));
  CHECK(equal(failure([] { Table x(std::map<std::string, Row>{{"a", {{1, 1.5}, {1, 2.5}}}}); }), "ValueError: 2 pairs have only 1 keys"));
  CHECK(equal(failure([] { golib::detail::Mapping<int64_t, int64_t> x({{1, 2}, {1, 3}}); }), "ValueError: 2 pairs have only 1 keys"));
  // A callback may take narrower numbers than Go has.
  CHECK(golib::apply([](short x) { return x + int64_t{1}; }, -32768) == -32767 && golib::apply([](const double& x) { return static_cast<int64_t>(x); }, 7) == 7);
  CHECK(equal(failure([] { golib::apply([](int x) { return int64_t{x}; }, (int64_t{1} << 40) + 7); }), "TypeError: 1099511627783 for a parameter of a callback does not fit an int of 4 bytes"));
  CHECK(equal(failure([] { golib::apply([](unsigned long long x) { return static_cast<int64_t>(x); }, -1); }), "TypeError: -1 for a parameter of a callback does not fit an int of 8 bytes"));
  // So may an ffi::TypedFunction of another signature, and a pointer to a function. nullptr compiles, and Go refuses it.
  const ffi::TypedFunction<int(int)> narrow([](int x) { return x + 1; });
  CHECK(golib::apply(narrow, 7) == 8 && golib::apply(ffi::TypedFunction<int64_t(int64_t)>(narrow), 7) == 8 && golib::apply(narrow.packed(), 7) == 8);
  CHECK(equal(failure([&] { golib::apply(narrow, (int64_t{1} << 40) + 7); }), "TypeError: 1099511627783 for a parameter of a callback does not fit an int of 4 bytes"));
  int64_t (*const pointer)(int64_t) = [](int64_t x) { return x + 2; };
  CHECK(golib::apply(pointer, 7) == 9 && golib::apply(std::function<int(short)>(pointer), 7) == 9);
  CHECK(failure([] { golib::apply(nullptr, 7); }).find("TypeError: ") == 0);
  // So are callables in a container, and in a field.
  using Func = golib::detail::Func<int64_t(int64_t)>;
  constexpr const char* wide = "TypeError: 1099511627783 for a parameter of a callback does not fit an int of 4 bytes";
  const auto narrowed = [](int x) { return int64_t{x}; };
  const golib::detail::Sequence<Func> listed(std::vector<std::function<int64_t(int)>>{narrowed});
  const auto named = golib::detail::Element<ffi::Map<ffi::String, Func>>::Of(std::map<std::string, std::function<int64_t(int)>>{{"f", narrowed}});
  struct {
    Func f;
  } record{narrowed};
  for (const Func& f : {listed.values()[0].cast<Func>(), named["f"], record.f}) {
    CHECK(f(-7) == -7 && equal(failure([&] { f((int64_t{1} << 40) + 7); }), wide));
  }
  // What an Any has may not fit, too.
  CHECK(ffi::Any(ffi::Array<ffi::Any>{1, 1, 2}).cast<std::set<int8_t>>() == (std::set<int8_t>{1, 2}));
  CHECK(failure([] { ffi::Any(ffi::Array<ffi::Any>{300, 44}).cast<std::set<int8_t>>(); }).find("TypeError: ") == 0);
  CHECK(failure([] { ffi::Any(ffi::Array<ffi::Any>{1e300, 1}).cast<std::complex<float>>(); }).find("TypeError: ") == 0);
  CHECK(failure([] { ffi::Any(ffi::Map<ffi::String, ffi::Any>{{"length", 1}, {"size", 2}}).cast<golib::Slot>(); }).find("TypeError: ") == 0);
  // An optional number in a container has no form beyond int64.
  using Wide = golib::detail::Sequence<ffi::Optional<uint64_t>>;
  CHECK(!failure([&] { Wide x(std::vector<std::optional<uint64_t>>{most}); }).empty());
  // What Go returns may have two keys that are one key here.
  const TVMFFIAny nan = ffi::AnyView(std::numeric_limits<double>::quiet_NaN()).CopyToTVMFFIAny(), one = ffi::AnyView(1).CopyToTVMFFIAny();
  for (const TVMFFIAny& key : {nan, one}) {
    TVMFFIAny map[5] = {one, key, one, key, one};
    map[0].type_index = golib::detail::kFlatMap;
    map[0].v_int64 = 2;
    CHECK(equal(failure([&] { golib::detail::Values from{map, ""}; golib::detail::TakeAny(&from); }), "ValueError: 2 pairs have only 1 keys"));
  }
  CHECK(paint::coated(std::vector<paint::Finish>{paint::Finish::GLOSS}).size() == 2);
  golib::Bucket bucket;
  CHECK(bucket.hash_() == fnv && !bucket.limit().has_value() && bucket.holds(fnv) && !bucket.holds(most));
  bucket.set_hash(most);
  bucket.set_limit(fnv);
  CHECK(bucket.hash_() == most && bucket.limit() == fnv && bucket.holds(most) && bucket.holds(7) && golib::Bucket(most, most).limit() == most);
  CHECK(paint::layers(0, "").empty() && golib::word_count({}).empty() && golib::sorted({}).empty());
  std::map<std::string, std::vector<std::vector<double>>> rows = {{"a", {}}, {"b", {1000, {1, 2, 3}}}};
  CHECK(golib::sorted(rows) == rows);
  paint::Coat coat, under;
  under.color = paint::Color::BLUE;
  under.under.emplace();
  coat.under = {under};
  const std::vector<paint::Coat> coats = paint::strip(coat);
  CHECK(coats.size() == 2 && coats[1].color == paint::Color::BLUE);
}

// standard are values that are those of std::chrono, std::complex and std::set.
static void standard() {
  using namespace std::chrono_literals;
  using std::chrono::system_clock;
  using Texts = std::set<std::string>;
  const system_clock::time_point start(1000000000500ms);
  CHECK(golib::window(start) == start + 90min && golib::window(start, -1ms) == start - 1ms && golib::window({}, 0s) == system_clock::time_point());
  CHECK(golib::schedule(start, [](system_clock::time_point t) { return t + 24h; }, 3)[2] == start + 48h);
  int ticks = 0;
  for (const auto t : golib::ticks(start)) {
    CHECK(t == start + std::chrono::seconds(ticks));
    if (++ticks == 3) break;
  }
  CHECK(golib::common({"a", "b", "b"}, std::vector{"b", "c"}) == Texts({"b"}) && golib::common({}, Texts()).empty());
  CHECK(golib::roots(1, 0, 4)[1] == std::complex<double>(0, 2) && golib::rotation(0)(2) == 2. && golib::polynomial({0, 1}, 1, 0.5, std::complex<float>(2)) == std::complex<double>(-1, 0.5));
  const golib::Slot slot{start, 2h, {"a", "b"}};
  const golib::Slot both = golib::overlap(slot, {start + 1h, 2h, {"b"}}).value();
  CHECK(both.from == start + 1h && both.length == 1h && both.tags == Texts({"b"}) && !golib::overlap(slot, {start - 1h, 1h, {}}).has_value());

  golib::Event e(start, 90min, Texts{"a"});
  CHECK(e.when() == start && e.length() == 90min && e.tags() == Texts({"a"}) && e.until(start - 5s) == 5s && !e.until(std::optional(start + 2h)).has_value());
  e.set_when(start + 1h);
  e.set_length(2min);
  e.set_tags({"x", "y"});
  CHECK(e.when() == start + 1h && e.length() == 2min && e.tags()->size() == 2 && !golib::Event(start).tags().has_value() && golib::attend(e, start) == 62min);
  try {
    golib::attend(e, start + 2h);
    CHECK(false);
  } catch (const golib::LateError& late) {
    CHECK(late.due() == start + 62min && late.by() == 58min && late.tags() == Texts({"x", "y"}));
    CHECK(golib::LateError(late.due(), 1s, {"z"}).tags() == Texts({"z"}) && equal(late.message(), "58m0s after 2001-09-09 02:48:40"));
  }
  // std::chrono wraps around what has no place in its nanoseconds.
  constexpr std::chrono::hours long_time(3000000);
  constexpr const char* too_long = "OverflowError: a duration of 3000000 ticks of 3600/1 seconds is longer than 292 years";
  CHECK(golib::longest(std::vector{-2h, 2562047h}, {{"a", 1min}}) == 2562047h && golib::window(std::chrono::time_point<system_clock, std::chrono::seconds>(1s), 1min) == system_clock::time_point(61s));
  CHECK(equal(failure([&] { golib::longest(std::vector{long_time}, {}); }), too_long) && equal(failure([&] { golib::window(start, long_time); }), too_long));
  CHECK(equal(failure([&] { golib::window(std::chrono::time_point<system_clock, std::chrono::hours>(long_time)); }), too_long));
  CHECK(equal(failure([&] { e.set_length(long_time); }), too_long) && equal(failure([&] { golib::Event(start, long_time); }), too_long) && e.length() == 2min);
  CHECK(equal(failure([&] { ffi::Any x(long_time); }), too_long));
  CHECK(equal(failure([&] { golib::window(system_clock::time_point::max()); }), "ValueError: the time 9223377436 seconds after 1970 is outside of the range of std::chrono::system_clock"));
}

static void lent() {
  std::vector<float> x = {1, 2, 3};
  CHECK(golib::scale(x) == 12 && x[2] == 6);
  CHECK(golib::scale({x.data(), 1}, 3) == 6);
  auto squares = golib::squares(4);
  CHECK(squares.count == 4 && static_cast<int32_t*>(squares.squares.data_ptr())[3] == 9);
  CHECK(golib::ramp(3).numel() == 3);
}

static void sequences() {
  int64_t sum = 0;
  for (int64_t n : golib::countdown(4)) sum += n;
  CHECK(sum == 10);
  for (int64_t n : golib::countdown(1000)) {
    if (n < 990) break;
  }
  CHECK(golib::stopped(2) == 2);
  CHECK(equal(failure([] { for (int64_t n : golib::countdown(14)) (void)n; }), "RuntimeError: panic in golib.Countdown: 13 brings bad luck"));
  std::string all;
  for (auto [i, word] : golib::fields("a b")) all += std::to_string(i) + std::string(word);
  CHECK(all == "0a1b");
  int steps = 0;
  for (auto [x, y] : golib::Point(1, 1).way()) {
    steps++;
    CHECK(x == y);
  }
  CHECK(steps == 4);
}

static void errors() {
  try {
    golib::find("missing");
    CHECK(false);
  } catch (const golib::NotFoundError& e) {
    CHECK(e.name() == "missing" && e.near().value().size() == 2 && e.kind() == "golib.NotFoundError");
    CHECK(golib::is_missing([&] { throw e; }));
  }
  try {
    golib::find("number");
    CHECK(false);
  } catch (const golib::LimitError& e) {
    CHECK(e.value() == 7);
  }
  CHECK(equal(golib::caught([] { throw golib::NotFoundError("m", 3, ffi::Array<ffi::String>{"n"}); }),
              "NotFoundError m 3 [\"n\"] key=true: golib.NotFoundError: nothing is called m (tries: 3)"));
  try {
    golib::through([] { throw golib::LimitError(5); }, true);
    CHECK(false);
  } catch (const golib::LimitError& e) {
    CHECK(e.value() == 5);
  }
}

static void index() {
  golib::Index index;
  CHECK(index.add("A b") == 0 && index.words() == 2 && index.size() == 1 && index.find("a")[0] == "A b");
  CHECK(golib::merged({index, index}).find("a").size() == 2);
  std::ostringstream os;
  os << index;
  CHECK(os.str() == "Index(1 texts, 2 words)");
  { golib::Index::Closing guard(index); }
  index.close();
  CHECK(equal(failure([&] { index.add("c"); }), "ValueError: Index.add: the Index is closed"));
}

static void opaque() {
  classes::Account a("me");
  CHECK(a.owner() == "me/left" && a.level() == classes::Level::HIGH && a.entries().size() == 0);
  classes::Account b("you", classes::Level::LOW, classes::Side::RIGHT, 5);
  CHECK(b.entries()["start"] == 5 && b.put("x", 2).same_as(b) && classes::total(b) == 7);
  classes::keep("k", b);
  CHECK(classes::kept("k").same_as(b) && classes::kept("none") == nullptr);
  classes::drop("k");
  CHECK(a == a && a != b);
  auto all = classes::all({a, b}, {{"t", a}});
  CHECK(all.size() == 3 && all.at("1").same_as(b));
  auto visited = classes::visit({a}, [&](classes::Account, classes::Level level, classes::Side side) {
    CHECK(level == classes::Level::HIGH && side == classes::Side::RIGHT);
    return b;
  });
  CHECK(visited[0].same_as(b));
  classes::Savings savings(0.25);
  classes::Account base = savings;
  CHECK(savings.rate() == 0.25 && base.owner() == "savings" && classes::total(savings) == 0);
  CHECK(equal(failure([] { classes::Account(""); }), "RuntimeError: an account has an owner"));
}

static void holders() {
  classes::Account a("me");
  classes::Holder h(a, classes::Level::LOW);
  CHECK(h.account().value().same_as(a) && h.levels()[0] == classes::Level::LOW);
  h.set_side(classes::Side::RIGHT);
  h.set_levels({classes::Level::HIGH});
  h.set_account(std::nullopt);
  CHECK(h.side() == classes::Side::RIGHT && h.levels()[0] == classes::Level::HIGH && !h.account().has_value());
  auto enums = classes::enums(classes::Level::LOW, classes::Side::LEFT, {classes::Level::HIGH}, {{classes::Side::LEFT, classes::Level::HIGH}},
                              [](classes::Level) { return classes::Side::RIGHT; });
  CHECK(enums[classes::Level::HIGH] == classes::Side::RIGHT);
  CHECK(classes::Point(1).y() == -2.5);
}

static void calls() {
  golib::sleep_async(1).get();
  auto slow = golib::sleep_async(60000);
  slow.cancel();
  slow.cancel();
  CHECK(equal(failure([&] { slow.get(); }), "RuntimeError: context canceled"));
  { golib::sleep_async(60000).cancel(); }
  golib::sleep(1);
}

// A forked process has no threads of Go: the next value of a sequence is an error, and does
// not wait for a goroutine that is not there.
static void forked() {
  auto sequence = golib::countdown(5);
  CHECK(sequence.next() == 5);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);  // ends a child that waits
    const bool refused = failure([&] { sequence.next(); }).find("the process was forked") != std::string::npos;
    sequence.close();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(sequence.next() == 4);
}

int main() {
  functions();
  values();
  standard();
  lent();
  sequences();
  errors();
  index();
  opaque();
  holders();
  calls();
  forked();
  std::puts("all right");
}
