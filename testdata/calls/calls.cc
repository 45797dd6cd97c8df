// Calls, errors, callbacks and threads.
#include "calls.h"

namespace calls {

// What outlives one call.
struct Kept {
  std::mutex lock;
  Function callback{nullptr};
  Any value;
};

Kept& kept() {
  static Kept* k = new Kept;  // not destroyed at exit: a callback may belong to a runtime that is gone by then
  return *k;
}

[[noreturn]] void Fail(const String& kind, const String& message) {
  throw Error(std::string(kind), std::string(message), "");
}

// A type that can be thrown and does not derive from std::exception.
struct Thrown {
  Box box;
};

[[noreturn]] void ThrowValue(const String& what, const Function& f) {
  Box local(1);  // destroyed on the way out
  f();
  if (what == "int") throw 42;
  if (what == "text") throw "a text";
  if (what == "class") throw Thrown{Box(2)};
  throw what;
}

[[noreturn]] void FailWithCause(const String& kind, const String& message, const String& cause, const Optional<ObjectRef>& extra) {
  std::optional<ObjectRef> context;
  if (extra.has_value()) context = extra.value();
  throw Error(std::string(kind), std::string(message), "", Error("ValueError", std::string(cause), ""), context);
}

// Runs f on a new thread, waits for it, and passes on what it returns or throws.
template <typename F>
void OnThread(F&& f) {
  std::exception_ptr raised;
  std::thread thread([&] {
    try {
      f();
    } catch (...) {
      raised = std::current_exception();
    }
  });
  thread.join();
  if (raised) std::rethrow_exception(raised);
}

int64_t Repeat(const TypedFunction<int64_t(int64_t)>& f, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += f(i);
  return sum;
}

int64_t RepeatOnThread(const TypedFunction<int64_t(int64_t)>& f, int64_t n) {
  int64_t sum = 0;
  OnThread([&] { sum = Repeat(f, n); });
  return sum;
}

// Calls f from several threads at once.
int64_t RepeatOnThreads(const TypedFunction<int64_t(int64_t)>& f, int64_t n, int64_t threads) {
  std::atomic<int64_t> sum{0};
  std::mutex lock;
  std::exception_ptr raised;
  std::vector<std::thread> all;
  for (int64_t t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      try {
        sum += Repeat(f, n);
      } catch (...) {
        std::lock_guard<std::mutex> hold(lock);
        raised = std::current_exception();
      }
    });
  }
  for (std::thread& t : all) t.join();
  if (raised) std::rethrow_exception(raised);
  return sum;
}

// Calls the function from a thread that nobody waits for.
void Later(Function f, int64_t milliseconds) {
  std::thread([f = std::move(f), milliseconds]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    try {
      f();
    } catch (const std::exception&) {
      // There is no caller left to tell.
    }
    f = Function(nullptr);
  }).detach();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::GlobalDef()
      .def("calls.nop", [] {})
      .def_packed("calls.nop_packed", [](PackedArgs, Any*) {})
      .def("calls.add_one", [](int64_t x) { return x + 1; })
      .def("calls.add", [](int64_t a, int64_t b) { return a + b; })
      .def("calls.scale", [](double x, double by) { return x * by; })
      .def("calls.negate", [](bool x) { return !x; })
      .def("calls.int8", [](int8_t x) { return x; })
      .def("calls.uint8", [](uint8_t x) { return x; })
      .def("calls.int32", [](int32_t x) { return x; })
      .def("calls.uint64", [](uint64_t x) { return x; })
      .def("calls.float32", [](float x) { return x; })
      .def("calls.nop3", [](const Any&, const Any&, const Any&) {})
      .def("calls.nop3_tensors", [](const TensorView&, const TensorView&, const TensorView&) {})
      .def("calls.nop3_objects", [](const Box&, const Box&, const Box&) {})
      .def("calls.nop8", [](int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) {})
      .def("calls.sum32",
           [](int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h,
              int64_t i, int64_t j, int64_t k, int64_t l, int64_t m, int64_t n, int64_t o, int64_t p,
              int64_t q, int64_t r, int64_t s, int64_t t, int64_t u, int64_t v, int64_t w, int64_t x,
              int64_t y, int64_t z, int64_t a2, int64_t b2, int64_t c2, int64_t d2, int64_t e2, int64_t f2) {
             return a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s + t + u + v + w +
                    x + y + z + a2 + b2 + c2 + d2 + e2 + f2;
           })
      .def_packed("calls.sum",
                  [](PackedArgs args, Any* result) {
                    int64_t sum = 0;
                    for (int i = 0; i < args.size(); ++i) sum += args[i].cast<int64_t>();
                    *result = sum;
                  })
      .def_packed("calls.count", [](PackedArgs args, Any* result) { *result = static_cast<int64_t>(args.size()); })
      .def_packed("calls.type_indices",
                  [](PackedArgs args, Any* result) {
                    Array<int64_t> indices;
                    for (int i = 0; i < args.size(); ++i) indices.push_back(args[i].type_index());
                    *result = indices;
                  })
      .def("calls.concat", [](const String& a, const String& b) { return String(std::string(a) + std::string(b)); })
      .def("calls.length", [](const String& s) { return static_cast<int64_t>(s.size()); })
      .def("calls.text", [](int64_t n) { return String(std::string(static_cast<size_t>(n), 'x')); })

      .def("calls.fail", Fail, "Throws an error of the kind with the message.")
      .def("calls.fail_with_cause", FailWithCause)
      .def("calls.throw_std", [](const String& what) { throw std::runtime_error(std::string(what)); })
      .def("calls.throw_value", ThrowValue, "Calls f, and throws a value that does not derive from std::exception.")

      .def("calls.apply", [](const Function& f, const Any& x) -> Any { return f(x); })
      .def_packed("calls.apply_packed",
                  [](PackedArgs args, Any* result) { args[0].cast<Function>().CallPacked(args.Slice(1), result); })
      .def("calls.repeat", Repeat, "The sum of f(0) to f(n-1).")
      .def("calls.repeat_on_thread", RepeatOnThread)
      .def("calls.repeat_on_threads", RepeatOnThreads)
      .def("calls.on_thread",
           [](const Function& f, const Any& x) {
             Any result;
             OnThread([&] { result = f(x); });
             return result;
           })
      .def("calls.release_on_thread",
           [](const Array<Box>& boxes) {
             // The last reference to what the array alone holds ends on another thread.
             Array<Box> mine = boxes;
             OnThread([&] { mine = Array<Box>(); });
           })
      .def("calls.swallow",
           [](const Function& f) {
             try {
               f();
             } catch (const Error& e) {
               return String(e.kind() + ": " + e.message());
             }
             return String("");
           })
      .def("calls.later", Later)
      .def("calls.borrow", [](const Function& f, const Box& x) -> Any { return f(x, AnyView("text"), Array<int64_t>{1}); })
      .def("calls.store",
           [](Function f) {
             std::lock_guard<std::mutex> hold(kept().lock);
             std::swap(kept().callback, f);
           })
      .def("calls.call_stored",
           [](const Any& x) -> Any {
             Function f(nullptr);
             {
               std::lock_guard<std::mutex> hold(kept().lock);
               f = kept().callback;
             }
             if (f == nullptr) TVM_FFI_THROW(ValueError) << "no callback is stored";
             return f(x);
           })
      .def("calls.keep",
           [](Any x) {
             std::lock_guard<std::mutex> hold(kept().lock);
             std::swap(kept().value, x);
           })
      .def("calls.kept",
           [] {
             std::lock_guard<std::mutex> hold(kept().lock);
             return kept().value;
           })
      .def("calls.drop",
           [] {
             Function f(nullptr);
             Any value;
             std::lock_guard<std::mutex> hold(kept().lock);
             std::swap(kept().callback, f);
             std::swap(kept().value, value);
           })
      .def("calls.adder", [](int64_t n) { return TypedFunction<int64_t(int64_t)>([n](int64_t x) { return x + n; }); });
}

int64_t Triple(int64_t x) { return 3 * x; }

}  // namespace calls

TVM_FFI_DLL_EXPORT_TYPED_FUNC(triple, calls::Triple);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(triple, "Three times x.");
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fail, calls::Fail);
