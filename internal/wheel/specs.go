package wheel

import (
	"fmt"
	"slices"
	"strings"
)

// DefaultVersion is the version of apache-tvm-ffi that the tool installs and the tests use.
const DefaultVersion = "0.1.15.post2"

// python is the version of Python whose wheels are used; their native libraries are the same for every version.
const python = "3.12"

const (
	linuxAMD64   = "manylinux_2_28_x86_64"
	olderAMD64   = "manylinux_2_17_x86_64"
	linuxARM64   = "manylinux_2_28_aarch64"
	darwinARM64  = "macosx_11_0_arm64"
	windowsAMD64 = "win_amd64"
)

// pinned holds every wheel that the project itself asks for.
var pinned = []Spec{
	{"apache-tvm-ffi", "0.1.9", "linux", "amd64", linuxAMD64, python, "f45eb43499acac45ff6c93564f0ff2d3ca27b69656d540fd56ce59d51c0b4c65"},
	{"apache-tvm-ffi", "0.1.12", "linux", "amd64", linuxAMD64, python, "dc0acd7eeb0e451d5e3f686af3ba0b495fdbf97b5b54cf9a0f770cdafe0e691a"},
	{"apache-tvm-ffi", "0.1.14.post1", "linux", "amd64", linuxAMD64, python, "eb759c039866b541ec2cb07d498082f8ba6ded74d58d9196180a5932f365c077"},
	{"apache-tvm-ffi", "0.1.15.post2", "linux", "amd64", linuxAMD64, python, "059eed9bfc94bcd41650fb8eefde74040a1bc7e7b1a6f0a8ff897b02b118875b"},
	{"apache-tvm-ffi", "0.1.9", "linux", "arm64", linuxARM64, python, "87cacce81df55685fc6a76e1e3c5db1200e85e87bf5974b692c59d131b7bc622"},
	{"apache-tvm-ffi", "0.1.12", "linux", "arm64", linuxARM64, python, "8a7b08f377ea2663dae10e3045f8d0215f0378ee975096174a8af6381eeb1504"},
	{"apache-tvm-ffi", "0.1.14.post1", "linux", "arm64", linuxARM64, python, "3fd2255a2e363a40c51ec1eeedb1110a2c74e443f95ae351ee5a81b5ff6808cf"},
	{"apache-tvm-ffi", "0.1.15.post2", "linux", "arm64", linuxARM64, python, "5c807217f134272d6e08ffdeeb9f1b2c1f366e096712b4e47b88ee9103f80113"},
	{"apache-tvm-ffi", "0.1.9", "windows", "amd64", windowsAMD64, python, "d1dcf4c041d5ec05e3da1d545800c33cdbb95c113baa7705085ff79fa262752b"},
	{"apache-tvm-ffi", "0.1.12", "windows", "amd64", windowsAMD64, python, "23eefd1094a41faae2bb7b9cc5816aa938101b624d48ebb724881f1a89b78e99"},
	{"apache-tvm-ffi", "0.1.14.post1", "darwin", "arm64", darwinARM64, python, "c1bb111345fa84314e9e8b66e0f4616af04f46fcd3bb1c0aec72db675a6a0cb8"},
	{"apache-tvm-ffi", "0.1.14.post1", "windows", "amd64", windowsAMD64, python, "fd3edd7ccb4fb90092845f4db10ddec92696a5119842062222a9abd3e719565e"},
	{"apache-tvm-ffi", "0.1.15.post2", "darwin", "arm64", darwinARM64, python, "258264d149d276ae96edb3aad31d4896248b1a466715c64cf345d7b724e0dd8b"},
	{"apache-tvm-ffi", "0.1.15.post2", "windows", "amd64", windowsAMD64, python, "e72a88480195fb686bb0fed989145a77a6289e1814b18908462c3f7ce2e9270a"},
	{"nvidia-cuda-nvrtc", "13.5.37", "linux", "amd64", "manylinux_2_12_x86_64", python, "86b4d68058807988b7d9af5b44917a0601e9c337f35ccd657bfb3c759ff8d8bc"},
	{"nvidia-cuda-runtime", "13.5.37", "linux", "amd64", "manylinux_2_17_x86_64", python, "df2b79a8852f10d1fef8c848489c49eebb5754051bf870202a862831412b179d"},
	{"nvidia-cuda-crt", "13.5.37", "linux", "amd64", "manylinux_2_17_x86_64", python, "e898b7f73d3035fa89915a3f7bf3b54a73e90249746111aed295822c4729bb29"},
	{"nvidia-cuda-cccl", "13.3.5.0.6", "linux", "amd64", "manylinux_2_17_x86_64", python, "d5230098fa2df5021e1a00c0c4eee41797671a91119d31e892463e5ccf3ee326"},
	// The oldest that the tests support: a driver of CUDA 12.4 refuses PTX of a newer one.
	{"nvidia-cuda-nvrtc-cu12", "12.4.127", "linux", "amd64", "manylinux2014_x86_64", python, "a178759ebb095827bd30ef56598ec182b85547f1508941a3d560eb7ea1fbf338"},
	{"nvidia-cuda-runtime-cu12", "12.4.127", "linux", "amd64", "manylinux2014_x86_64", python, "64403288fa2136ee8e467cdc9c9427e0434110899d07c779f25b5c068934faa5"},
	{"nvidia-cuda-cccl-cu12", "12.4.127.post1", "linux", "amd64", "manylinux2014_x86_64", python, "2027fa5fc75fbee703bf24e8275a40a605cf94a3e8fef8a7187897d49b34facb"},
	{"apache-tvm", "0.27.0.post1", "linux", "amd64", linuxAMD64, python, "f503fc903b6e16fda5daacac6698ecb8bc38937f57da7aa29f6c7ab169d08657"},
	{"xgrammar", "0.2.9", "linux", "amd64", linuxAMD64, python, "3326c9fb5864922fde7b52efea9c7e83b91a8f5bf81dbb5f5164d23410dfdae4"},
	{"xgrammar", "0.2.9", "linux", "arm64", linuxARM64, python, "7f7c49a8805c2fcef0198764e2acf8f0544cf6a7dcdebbaaacd9ecb3b65c15e4"},
	{"xgrammar", "0.2.9", "darwin", "arm64", darwinARM64, python, "55de7670fa483bfcbe161df966e0e60198d22be7187f61ce8294f5296ad2ca3b"},
	{"xgrammar", "0.2.9", "windows", "amd64", windowsAMD64, python, "df91fcebd26c1851f1c7678e5f188ecbc0bbee6149e7b64ae61adc8bb5310e45"},
	{"apache-tvm-ffi-orcjit", "0.1.3", "linux", "amd64", linuxAMD64, python, "04f0ea19f4ae7c89564202067c34b697ce7afc3bb1158ecbdf7c0d1f4951f156"},
	{"apache-tvm-tirx", "0.1.0a4", "linux", "amd64", linuxAMD64, python, "826eea4fbfd6ad521219f14a6b5e7bcda6718a24ae1dcc242427e6da00be816b"},
	{"jax-tvm-ffi", "0.1.3", "linux", "amd64", linuxAMD64, python, "96d339979da2eb3cd82fb7d4bea93aa513783d2ebedf59ce356b617eb7e8481e"},
	{"tilelang", "0.1.15", "linux", "amd64", linuxAMD64, python, "ca021a3450ad84b8fe7deb1b659c8d3d2e4b0855fdb59e2992a5349acf019881"},
	{"z3-solver", "4.15.4.0", "linux", "amd64", olderAMD64, python, "7e103a6f203f505b8b8b8e5c931cc407c95b61556512d4921c1ddc0b3f41b08e"},
}

// Pinned returns the wheels with a known hash.
func Pinned() []Spec { return slices.Clone(pinned) }

// TVMFFI returns the pinned wheel of apache-tvm-ffi for a version and platform.
// An empty version means DefaultVersion.
func TVMFFI(version, goos, goarch string) (Spec, error) {
	if version == "" {
		version = DefaultVersion
	}
	return lookup("apache-tvm-ffi", version, goos, goarch)
}

// TVMNeeds is the version of apache-tvm-ffi for which the pinned wheel of apache-tvm was built.
const TVMNeeds = "0.1.14.post1"

func lookup(pkg, version, goos, goarch string) (Spec, error) {
	var known, here []string
	for _, s := range pinned {
		if s.Package != pkg {
			continue
		}
		if s.Version == version && s.GOOS == goos && s.GOARCH == goarch {
			return s, nil
		}
		known = append(known, s.Version+" "+s.GOOS+"/"+s.GOARCH)
		if s.GOOS == goos && s.GOARCH == goarch {
			here = append(here, s.Version)
		}
	}
	if len(here) > 0 {
		known = here
	}
	return Spec{}, fmt.Errorf("wheel: no pinned hash for %s %s on %s/%s; known: %s; "+
		"install it with the machine's package tool and name the library by TVMFFI_LIBRARY, or ask for a known one",
		pkg, version, goos, goarch, strings.Join(known, ", "))
}
