// The library of the project's examples: plants, and what one does with them.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

namespace garden {

namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;

// How many plants exist, so that a test can tell a leak.
std::atomic<int64_t> alive{0};

class PlantObj : public ffi::Object {
 public:
  double height = 0;

  PlantObj() { ++alive; }
  PlantObj(const PlantObj& other) : ffi::Object(), height(other.height) { ++alive; }
  ~PlantObj() { --alive; }

  double Grow(double by) {
    if (by < 0) TVM_FFI_THROW(ValueError) << "a plant cannot shrink by " << -by;
    return height += by;
  }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("garden.Plant", PlantObj, ffi::Object);
};

class Plant : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Plant, ffi::ObjectRef, PlantObj);
};

class RoseObj : public PlantObj {
 public:
  ffi::String color;
  int64_t petals = 5;

  int64_t Pluck(int64_t count) {
    if (count < 0 || count > petals) {
      TVM_FFI_THROW(IndexError) << "cannot pluck " << count << " of " << petals << " petals";
    }
    return petals -= count;
  }

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("garden.Rose", RoseObj, PlantObj);
};

class Rose : public Plant {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Rose, Plant, RoseObj);

  // Graft is a rose with the colour of one parent and the petals of the other.
  static Rose Graft(const Rose& color_of, const Rose& petals_of) {
    auto node = ffi::make_object<RoseObj>();
    node->color = color_of->color;
    node->petals = petals_of->petals;
    node->height = (color_of->height + petals_of->height) / 2;
    return Rose(ffi::ObjectPtr<RoseObj>(std::move(node)));
  }

 private:
  explicit Rose(ffi::ObjectPtr<RoseObj> node) : Plant(ffi::UnsafeInit{}) { data_ = std::move(node); }
};

class TulipObj : public PlantObj {
 public:
  int64_t bulbs = 1;
  ffi::Optional<ffi::String> origin;

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("garden.Tulip", TulipObj, PlantObj);
};

class Tulip : public Plant {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Tulip, Plant, TulipObj);
};

void Water(const Plant& plant, double amount) {
  if (amount < 0) TVM_FFI_THROW(ValueError) << "amount of water is negative: " << amount;
  plant->height += amount / 10;
}

ffi::Array<Plant> MakeBed(ffi::Array<Plant> plants) { return plants; }

int64_t Count(const ffi::Array<Plant>& bed, const ffi::TypedFunction<bool(Plant)>& wanted) {
  int64_t n = 0;
  for (const Plant& p : bed) n += wanted(p);
  return n;
}

ffi::Optional<Plant> Tallest(const ffi::Array<Plant>& bed) {
  ffi::Optional<Plant> best;
  for (const Plant& p : bed) {
    if (!best.has_value() || p->height > best.value()->height) best = p;
  }
  return best;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<PlantObj>("Anything that grows in a garden.")
      .def_rw("height", &PlantObj::height, refl::DefaultValue(1.0), "The height in metres.")
      .def("grow", &PlantObj::Grow, "Makes the plant taller and returns its new height.")
      .def_static("species", [] { return ffi::Array<ffi::String>{"rose", "tulip"}; },
                  "The species that this garden knows.");
  // Neither type defines a constructor: the library makes one from the fields.
  refl::ObjectDef<RoseObj>("A rose.\n\nIt has a colour for life, and petals until they are plucked.")
      .def_ro("color", &RoseObj::color, "The colour of the petals.")
      .def_rw("petals", &RoseObj::petals, refl::DefaultValue(int64_t{5}), "How many petals are left.")
      .def("pluck", &RoseObj::Pluck, "Takes petals off and returns how many are left.")
      .def_static("graft", &Rose::Graft, "Makes a rose with the colour of one and the petals of another.");
  refl::ObjectDef<TulipObj>("A tulip.")
      .def_rw("bulbs", &TulipObj::bulbs, refl::DefaultValue(int64_t{1}), "How many bulbs it grows from.")
      .def_rw("origin", &TulipObj::origin, refl::DefaultValue(nullptr), "Where it comes from, if known.");
  refl::GlobalDef()
      .def("garden.water", Water, "Waters a plant: ten litres make a metre.")
      .def("garden.make_bed", MakeBed, "Makes a bed of plants.")
      .def("garden.count", Count, "Counts the plants for which wanted is true.")
      .def("garden.tallest", Tallest, "The tallest plant of a bed, or nothing.")
      .def("garden.alive", [] { return alive.load(); }, "How many plants exist.");
}

double Area(double width, double length) { return width * length; }

ffi::String Describe(const Plant& plant) {
  return plant->GetTypeKey() + " of " + std::to_string(plant->height) + " m";
}

void Scale(const ffi::TensorView& x, double factor) {
  if (x.dtype().code != kDLFloat || x.dtype().bits != 32 || x.dtype().lanes != 1) {
    TVM_FFI_THROW(TypeError) << "scale wants float32";
  }
  if (!x.IsContiguous()) TVM_FFI_THROW(ValueError) << "scale wants a contiguous tensor";
  float* data = static_cast<float*>(x.data_ptr());
  for (int64_t i = 0; i < x.numel(); ++i) data[i] = static_cast<float>(data[i] * factor);
}

}  // namespace garden

TVM_FFI_DLL_EXPORT_TYPED_FUNC(area, garden::Area);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(area, "The area of a bed in square metres.");
TVM_FFI_DLL_EXPORT_TYPED_FUNC(describe, garden::Describe);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(describe, "Describes a plant in words.\n\nThe height is in metres.");
TVM_FFI_DLL_EXPORT_TYPED_FUNC(scale, garden::Scale);
