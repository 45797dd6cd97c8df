package testkernels

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tvmffi-go/tvmffi/cuda/internal/checktest"
	"github.com/tvmffi-go/tvmffi/cuda/kernelrt"
	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// kernels has for each kernel what takes packed arguments, and the kernel itself.
var kernels = map[string]struct {
	launch func([]kernelrt.Value, kernelrt.Stream) error
	kernel *kernelrt.Kernel
}{
	"axpy": {launchAxpy, &kernelAxpy}, "mat": {launchMat, &kernelMat}, "two": {launchTwo, &kernelTwo},
	"clustered": {launchClustered, &kernelClustered}, "sizes": {launchSizes, &kernelSizes}, "ints": {launchInts, &kernelInts}, "demands": {launchDemands, &kernelDemands},
	"nested": {opened(&checksNested, launchNested), &kernelNested}, "shaped": {opened(&checksShaped, launchShaped), &kernelShaped},

	"mismatch": {launchMismatch, &kernelMismatch}, "absent": {launchAbsent, &kernelAbsent}, "optionals": {launchOptionals, &kernelOptionals},
}

// opened takes the arguments apart first, as the call from another language does.
func opened(c *kernelrt.Checks, launch func([]kernelrt.Value, kernelrt.Stream) error) func([]kernelrt.Value, kernelrt.Stream) error {
	return func(args []kernelrt.Value, stream kernelrt.Stream) error {
		leaves, err := c.Open(args)
		if err != nil {
			return err
		}
		return launch(leaves, stream)
	}
}

// subject is a kernel with its description.
type subject struct {
	name        string
	description *spec.Func
	checker     *check.Checker
	launch      func([]kernelrt.Value, kernelrt.Stream) error
}

// subjects returns all kernels. They find no image, so a call whose arguments are accepted
// does not reach a driver.
func subjects(t testing.TB) []subject {
	none := &kernelrt.Image{Files: fstest.MapFS{}, Pattern: "*"}
	var list []subject
	for _, function := range tvmffiExports.Functions {
		s, err := spec.Parse(function.Doc)
		if err != nil {
			t.Fatal(err)
		}
		k := kernels[function.Name]
		if k.kernel == nil {
			t.Fatalf("%s is missing in the list of kernels of this test", function.Name)
		}
		image := k.kernel.Image
		t.Cleanup(func() { k.kernel.Image = image })
		k.kernel.Image = none
		list = append(list, subject{function.Name, s, check.MustCompile(function.Doc), k.launch})
	}
	return list
}

// compare calls a kernel with the arguments that data makes, and does the checks of package
// check, which runs the plan of the description: both accept the arguments, or refuse them
// with the same error.
func (s subject) compare(t *testing.T, data []byte) (accepted bool) {
	m := checktest.New(data)
	args := m.Args(s.description)
	var v check.Values
	want := s.checker.BindPacked(&v, args)
	got := s.launch(args, kernelrt.Stream{})
	runtime.KeepAlive(m)
	var w, g *tvmffi.Error
	if want == nil {
		if errors.As(got, &g) && (g.Kind == "InternalError" || strings.Contains(g.Message, "when calling")) {
			t.Fatalf("%s, % x: the kernel refuses what package check accepts: %v", s.name, data, got)
		}
		return true
	}
	if !errors.As(want, &w) || !errors.As(got, &g) || w.Kind != g.Kind || w.Message != g.Message {
		t.Fatalf("%s, % x: %v\nwant %v", s.name, data, got, want)
	}
	return false
}

// described is the table of checks of a description, as a generated func has it, without the straight code before it. ok is
// false for what the generator refuses.
func described(f *spec.Func) (s subject, ok bool) {
	p, err := f.Plan()
	if err != nil || f.Dialect != spec.CuTe {
		return s, false
	}
	for _, o := range p.Operands {
		_, shape := o.Param.(spec.Shape)
		_, tuple := o.Param.(spec.Tuple)
		if o.Optional && (shape || tuple) {
			return s, false
		}
	}
	checks := &kernelrt.Checks{Signature: p.Signature, List: p.Checks, Args: forms(p, -1)}
	c, err := check.New(f)
	return subject{f.String(), f, c, opened(checks, func(leaves []kernelrt.Value, _ kernelrt.Stream) error {
		err := checks.Refuse(leaves)
		if errors.Is(err, tvmffi.ErrInternal) { // the func accepts what the table does
			return nil
		}
		return err
	})}, err == nil
}

func forms(p *spec.Plan, parent int) []kernelrt.Form {
	list := []kernelrt.Form{}
	for i, o := range p.Operands {
		if o.Parent != parent {
			continue
		}
		form := kernelrt.Form{Name: o.Name}
		switch t := o.Param.(type) {
		case spec.Shape:
			form.Shape, form.Sizes = true, len(t.Dims)
		case spec.Tuple:
			form.Elems = forms(p, i)
		}
		list = append(list, form)
	}
	return list
}

// TestChecks makes random calls of all kernels, and of the tables of random descriptions.
func TestChecks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	count := map[bool]int{}
	random := func(s subject, calls int) {
		for range calls {
			count[s.compare(t, checktest.Random(r, 100))]++
		}
	}
	for _, s := range subjects(t) {
		if !s.compare(t, nil) {
			t.Errorf("%s refuses good arguments", s.name)
		}
		random(s, 10_000)
	}
	for range 2000 {
		if s, ok := described(checktest.New(checktest.Random(r, 100)).Signature()); ok {
			random(s, 10)
		}
	}
	if count[true] < 10_000 || count[false] < 10_000 {
		t.Errorf("%d calls accepted, %d refused: the changes do not reach the checks", count[true], count[false])
	}
}

// FuzzChecks does the same with the bytes of the fuzzer. Where there is a signature, the call is one of its table.
func FuzzChecks(f *testing.F) {
	list := subjects(f)
	for i := range list {
		f.Add(byte(i), []byte{}, []byte{1, 9, 0, 5, 11, 0, 7, checktest.Nothing, 13, 0, 3})
	}
	f.Fuzz(func(t *testing.T, kernel byte, signature, call []byte) {
		s, ok := list[int(kernel)%len(list)], true
		if len(signature) > 0 {
			s, ok = described(checktest.New(signature).Signature())
		}
		if ok {
			s.compare(t, call)
		}
	})
}
