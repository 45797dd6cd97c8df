package packaging

import (
	"debug/elf"
	"debug/macho"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Tag returns the platform tags of a wheel with the library in it, with dots between them, such as
// manylinux2014_x86_64.manylinux_2_17_x86_64. If the library needs more of a machine than the tag can say, local
// says what that is: the tag is then one for machines like this one, and package indexes refuse it.
func Tag(library string, t Target) (tag, local string, err error) {
	switch t.OS {
	case "linux":
		return linuxTag(library, t)
	case "darwin":
		tag, err = macosTag(library, t)
		return tag, "", err
	case "windows":
		return "win_" + platforms[t].python, "", nil
	}
	return "", "", fmt.Errorf("wheels for %s are not known", t)
}

// release is a release of glibc or of a library of gcc: 2.17 or 3.4.19.
type release [3]int

func parseRelease(text string) (r release, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) < 2 || len(parts) > len(r) {
		return r, false
	}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil {
			return r, false
		}
		r[i] = n
	}
	return r, true
}

// everywhere lists the libraries of glibc and gcc that every Linux with glibc has. The dynamic linker of glibc is
// another one.
var everywhere = []string{
	"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libresolv.so.2",
	"libanl.so.1", "libgcc_s.so.1", "libstdc++.so.6",
}

// companions lists the versions of the libraries of gcc that machines with a release of glibc have, by the
// policies of manylinux. A library that needs more than the last needs a newer machine than these rules know.
var companions = []struct {
	glibc, gcc, glibcxx, cxxabi release
}{
	{release{2, 17}, release{4, 8}, release{3, 4, 19}, release{1, 3, 7}},
	{release{2, 24}, release{4, 8}, release{3, 4, 22}, release{1, 3, 10}},
	{release{2, 27}, release{7}, release{3, 4, 24}, release{1, 3, 11}},
	{release{2, 31}, release{7}, release{3, 4, 28}, release{1, 3, 12}},
	{release{2, 34}, release{7}, release{3, 4, 29}, release{1, 3, 13}},
	{release{2, 35}, release{12}, release{3, 4, 30}, release{1, 3, 13}},
	{release{2, 39}, release{14}, release{3, 4, 33}, release{1, 3, 15}},
}

// linuxTag reads the libraries that an ELF file needs, and the versions of their symbols.
func linuxTag(library string, t Target) (tag, local string, err error) {
	f, err := elf.Open(library)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", library, err)
	}
	defer f.Close()
	if machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[t.Arch]; f.Machine != machine {
		return "", "", fmt.Errorf("the C compiler made a library for %v, not for %s: name a cross compiler by CC", f.Machine, t)
	}
	needed, err := f.ImportedLibraries()
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", library, err)
	}
	var other []string
	musl := false
	for _, n := range needed {
		switch {
		case strings.HasPrefix(n, "libc.musl-"), n == "libc.so":
			musl = true
		case !slices.Contains(everywhere, n) && !strings.HasPrefix(n, "ld-linux-"):
			other = append(other, n)
		}
	}
	symbols, err := f.ImportedSymbols()
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", library, err)
	}
	arch := platforms[t].python
	switch {
	case len(other) > 0:
		return "linux_" + arch, "it needs " + strings.Join(other, " and ") + ", which other machines may lack", nil
	case musl:
		return "musllinux_1_2_" + arch, "", nil
	}
	least, unknown := oldest(symbols)
	if unknown != "" {
		return "linux_" + arch, "it needs " + unknown + ", which is newer than what this tool knows of", nil
	}
	tag = fmt.Sprintf("manylinux_%d_%d_%s", least[0], least[1], arch)
	if least == (release{2, 17}) {
		tag = "manylinux2014_" + arch + "." + tag // the first is for pip before 20.3
	}
	return tag, "", nil
}

// oldest returns the oldest glibc whose machines have the symbols, or a version that no known machine has.
func oldest(symbols []elf.ImportedSymbol) (least release, unknown string) {
	least = companions[0].glibc
	for _, s := range symbols {
		family, version, _ := strings.Cut(s.Version, "_")
		r, ok := parseRelease(version)
		if !ok {
			continue // GLIBC_PRIVATE, CXXABI_TM_1
		}
		if family == "GLIBC" {
			if slices.Compare(r[:], least[:]) > 0 {
				least = r
			}
			continue
		}
		i := slices.IndexFunc(companions, func(c struct{ glibc, gcc, glibcxx, cxxabi release }) bool {
			most, ok := map[string]release{"GCC": c.gcc, "GLIBCXX": c.glibcxx, "CXXABI": c.cxxabi}[family]
			return !ok || slices.Compare(r[:], most[:]) <= 0
		})
		if i < 0 {
			return least, s.Version
		}
		if slices.Compare(companions[i].glibc[:], least[:]) > 0 {
			least = companions[i].glibc
		}
	}
	return least, ""
}

// The load commands that name the oldest macOS, and where they do.
const (
	versionMin   = 0x24 // LC_VERSION_MIN_MACOSX: command, size, version
	buildVersion = 0x32 // LC_BUILD_VERSION: command, size, platform, version
)

// macosTag reads the oldest macOS from a Mach-O file.
func macosTag(library string, t Target) (string, error) {
	f, err := macho.Open(library)
	if err != nil {
		return "", fmt.Errorf("%s: %w", library, err)
	}
	defer f.Close()
	if cpu := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[t.Arch]; f.Cpu != cpu {
		return "", fmt.Errorf("the C compiler made a library for %v, not for %s: name a cross compiler by CC", f.Cpu, t)
	}
	for _, l := range f.Loads {
		raw := l.Raw()
		if len(raw) < 16 {
			continue
		}
		var version uint32
		switch f.ByteOrder.Uint32(raw) {
		case versionMin:
			version = f.ByteOrder.Uint32(raw[8:])
		case buildVersion:
			version = f.ByteOrder.Uint32(raw[12:])
		default:
			continue
		}
		return macosRelease(version, t), nil
	}
	return "", fmt.Errorf("%s does not say which macOS it needs: give the C compiler -mmacosx-version-min", library)
}

// macosRelease writes the tag. Since macOS 11 the tag of a release has the minor number 0.
func macosRelease(version uint32, t Target) string {
	var v [4]byte
	binary.BigEndian.PutUint32(v[:], version)
	major, minor := int(v[0])<<8|int(v[1]), int(v[2])
	if major > 10 {
		minor = 0
	}
	return fmt.Sprintf("macosx_%d_%d_%s", major, minor, platforms[t].python)
}
