// A small C++ library that makes sound: the kind of library that tvmffi-bind binds.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace synth {

namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;

constexpr double kPi = 3.14159265358979323846;

// ---- Classes: an abstract one and three that derive from it.

class SignalObj : public ffi::Object {
 public:
  double gain = 1;

  virtual ~SignalObj() = default;
  virtual double Raw(double seconds) const = 0;

  double At(double seconds) const { return gain * Raw(seconds); }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("synth.Signal", SignalObj, ffi::Object);
};

class Signal : public ffi::ObjectRef {
 public:
  explicit Signal(ffi::ObjectPtr<SignalObj> node) : ffi::ObjectRef(std::move(node)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Signal, ffi::ObjectRef, SignalObj);
};

class ToneObj : public SignalObj {
 public:
  double frequency = 0;
  double phase = 0;

  double Raw(double seconds) const override { return std::sin(2 * kPi * (frequency * seconds + phase)); }

  int64_t Note() const {
    if (frequency <= 0) TVM_FFI_THROW(ValueError) << "a frequency of " << frequency << " Hz has no note";
    return std::lround(69 + 12 * std::log2(frequency / 440));
  }

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("synth.Tone", ToneObj, SignalObj);
};

class MixObj : public SignalObj {
 public:
  ffi::Array<Signal> parts;

  explicit MixObj(ffi::Array<Signal> parts) : parts(std::move(parts)) {}

  double Raw(double seconds) const override {
    double sum = 0;
    for (const Signal& part : parts) sum += part->At(seconds);
    return sum;
  }

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("synth.Mix", MixObj, SignalObj);
};

using Envelope = ffi::TypedFunction<double(double)>;

class ShapedObj : public SignalObj {
 public:
  Signal source;

  ShapedObj(Signal source, Envelope envelope) : source(std::move(source)), envelope_(std::move(envelope)) {}

  double Raw(double seconds) const override { return source->At(seconds) * envelope_(seconds); }

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("synth.Shaped", ShapedObj, SignalObj);

 private:
  Envelope envelope_;
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<SignalObj>(refl::init(false), "Anything that sounds.")
      .def_rw("gain", &SignalObj::gain, refl::DefaultValue(1.0), "How loud it is: 1 leaves it as it is.")
      .def("at", &SignalObj::At, "The value of the signal at a time in seconds.");
  // Its constructor is made from the fields: required ones, and options with a default.
  refl::ObjectDef<ToneObj>("A pure tone.")
      .def_ro("frequency", &ToneObj::frequency, "The frequency in Hz.")
      .def_ro("phase", &ToneObj::phase, refl::DefaultValue(0.0), "Where the wave starts, as a part of a period.")
      .def("note", &ToneObj::Note, "The nearest note, as MIDI counts them: 69 is the A of 440 Hz.");
  // These have constructors of their own.
  refl::ObjectDef<MixObj>("Several signals at once.")
      .def(refl::init<ffi::Array<Signal>>(), "Mixes signals by adding them.")
      .def_ro("parts", &MixObj::parts, "The signals in it.");
  refl::ObjectDef<ShapedObj>("A signal whose loudness changes over time.")
      .def(refl::init<Signal, Envelope>(), "Shapes a signal by a function of the time in seconds.")
      .def_ro("source", &ShapedObj::source, "The signal that is shaped.");
}

// ---- Functions of the registry.

double Peak(const Signal& signal, double seconds) {
  double peak = 0;
  for (double t = 0; t < seconds; t += 1.0 / 48000) peak = std::max(peak, std::abs(signal->At(t)));
  return peak;
}

ffi::Array<Signal> Chord(double frequency, const ffi::Array<int64_t>& semitones) {
  ffi::Array<Signal> tones;
  for (int64_t n : semitones) {
    auto tone = ffi::make_object<ToneObj>();
    tone->frequency = frequency * std::exp2(n / 12.0);
    tones.push_back(Signal(std::move(tone)));
  }
  return tones;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::GlobalDef()
      .def("synth.peak", Peak, "The largest value of a signal in its first seconds.")
      .def("synth.chord", Chord, "The tones that lie so many semitones above a frequency.");
}

// ---- Functions that the library exports, as a compiled kernel does.

double Decibel(double gain) { return 20 * std::log10(gain); }

void Render(const Signal& signal, int64_t rate, const ffi::TensorView& out) {
  if (out.dtype() != DLDataType{kDLFloat, 32, 1} || out.ndim() != 1 || !out.IsContiguous()) {
    TVM_FFI_THROW(TypeError) << "render writes to a vector of float32";
  }
  if (rate <= 0) TVM_FFI_THROW(ValueError) << "cannot render " << rate << " samples a second";
  float* samples = static_cast<float*>(out.data_ptr());
  for (int64_t i = 0; i < out.numel(); ++i) {
    samples[i] = static_cast<float>(signal->At(static_cast<double>(i) / static_cast<double>(rate)));
  }
}

}  // namespace synth

TVM_FFI_DLL_EXPORT_TYPED_FUNC(decibel, synth::Decibel);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(decibel, "A gain in decibel.");
TVM_FFI_DLL_EXPORT_TYPED_FUNC(render, synth::Render);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(render, "Writes a signal to a vector of float32, rate samples a second.");
