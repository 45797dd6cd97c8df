#ifdef MACRO
// A Library is what load has found.
struct Library {
  std::array<Entry, kEntries == 0 ? 1 : kEntries> entries;
};

inline std::atomic<const Library*>& TheLibrary() {
  static std::atomic<const Library*> library{nullptr};
  return library;
}

inline const Entry& Loaded(std::size_t index) {
  const Library* library = TheLibrary().load(std::memory_order_acquire);
  if (library == nullptr) {
    throw ffi::Error("RuntimeError", "the library LIBRARY is not loaded: call NAMESPACE::load with the path of the shared library first", "");
  }
  return library->entries[index];
}

inline void Ready() { Loaded(0); }

inline void Load(const std::string& path) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (TheLibrary().load(std::memory_order_acquire) != nullptr) return;
  const ffi::Module module = ffi::Module::LoadFromFile(path);
  auto library = std::make_unique<Library>();
  for (std::size_t i = 0; i < kEntries; i++) {
    const ffi::Optional<ffi::Function> function = module->GetFunction(kNames[i], false);
    if (!function.has_value()) {
      throw ffi::Error("ValueError", path + " has no function " + kNames[i] + ": it is not the library LIBRARY, or not the version that the header belongs to", "");
    }
    library->entries[i] = Forever(function.value());
  }
  TheLibrary().store(library.release(), std::memory_order_release);
}
#else
inline void Ready() {
  if (::SYMBOL() != 0) Raise();
}
#endif

inline Entry Global(const char* name) {
  Ready();
  return ::tvmffi_go::FORM::Global(name);
}

// Starter returns the function that starts a function with a context.
inline Entry Starter(const char* global, const char* name) {
  return Forever(Invoke<ffi::Function>(Global(global), name));
}

