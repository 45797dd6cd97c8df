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

// Starter returns the function that starts a function with a context.
inline Entry Starter(const char* global, const char* name) {
  return Forever(Invoke<ffi::Function>(Global(global), name));
}

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

