// Calls funcs of Go that end their goroutine, through the header of the library.
#include <exits.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define CHECK(x)                                                                 \
  do {                                                                           \
    if (!(x)) std::printf("line %d: %s\n", __LINE__, #x), std::exit(1);           \
  } while (false)

namespace {

template <typename Call>
void ends(const std::string& name, Call call) {
  try {
    call();
  } catch (const tvm::ffi::Error& e) {
    if (e.kind() != "RuntimeError" || e.message().find(name) == std::string::npos || e.message().find(" ended by runtime.Goexit") == std::string::npos) {
      std::printf("%s: %s: %s\n", name.c_str(), e.kind().c_str(), e.message().c_str());
      std::exit(1);
    }
    return;
  }
  std::printf("%s: no error\n", name.c_str());
  std::exit(1);
}

}  // namespace

int main() {
  ends("exits.Exit", [] { exits::exit(true); });
  CHECK(exits::exit(false) == "it goes on");
  ends("exits.Check", [] { exits::check("fail"); });
  ends("exits.Wait", [] { exits::wait(); });
  ends("exits.All", [] {
    for (auto x : exits::all()) CHECK(x == 1);
  });
  ends("Later", [] { exits::later()(true); });
  ends("exits.Apply", [] { exits::apply([](int64_t x) { return x; }, -1); });
  CHECK(exits::apply([](int64_t x) { return x + 1; }, 1) == 2);
  ends("exits.NewDoor", [] { exits::Door(false); });
  exits::Door door(true);
  ends("exits.(*Door).Slam", [&] { door.slam(); });
  ends("exits.(*Door).Open", [&] { door.open(); });
  auto step = exits::made(1);
  ends("exits.(*Step).Move", [&] { step.move(0); });
  CHECK(step.move(2) == 3);
  std::puts("all right");
}
