package main

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// checkFile refuses a file that the loader of this machine cannot load, in words
// that say more than the loader's.
func checkFile(path string) error {
	kind, cpu, err := fileKind(path)
	if err != nil {
		return err
	}
	if wantKind := nativeKind(); kind != wantKind {
		return fmt.Errorf("%s is %s, but this machine (%s) loads %s: use the library that was built for it", shown(path), article(kind), platform(), article(wantKind))
	}
	if cpu != runtime.GOARCH && cpu != "universal" {
		return fmt.Errorf("%s was built for %s, but this process runs on %s: use the library that was built for it", shown(path), cpu, runtime.GOARCH)
	}
	return nil
}

func nativeKind() string {
	switch runtime.GOOS {
	case "darwin", "ios":
		return "Mach-O file"
	case "windows":
		return "PE file"
	default:
		return "ELF file"
	}
}

func article(kind string) string {
	if strings.HasPrefix(kind, "E") {
		return "an " + kind
	}
	return "a " + kind
}

// fileKind tells the format of a shared library and the processor, in Go's words.
func fileKind(path string) (kind, cpu string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	if e, err := elf.NewFile(f); err == nil {
		if e.Type != elf.ET_DYN {
			return "", "", fmt.Errorf("%s is an ELF file of type %s, not a shared library: link it with -shared", shown(path), e.Type)
		}
		return "ELF file", elfCPU(e), nil
	}
	if m, err := macho.NewFile(f); err == nil {
		return "Mach-O file", machoCPU(m.Cpu), nil
	}
	if _, err := macho.NewFatFile(f); err == nil {
		return "Mach-O file", "universal", nil
	}
	if p, err := pe.NewFile(f); err == nil {
		return "PE file", peCPU(p.Machine), nil
	}
	return "", "", fmt.Errorf("%s is not a shared library (neither ELF nor Mach-O nor PE): check that the file is whole and the right one", shown(path))
}

func elfCPU(e *elf.File) string {
	switch e.Machine {
	case elf.EM_X86_64:
		return "amd64"
	case elf.EM_AARCH64:
		return "arm64"
	case elf.EM_386:
		return "386"
	case elf.EM_ARM:
		return "arm"
	case elf.EM_RISCV:
		return "riscv64"
	default:
		return strings.ToLower(strings.TrimPrefix(e.Machine.String(), "EM_"))
	}
}

func machoCPU(c macho.Cpu) string {
	switch c {
	case macho.CpuAmd64:
		return "amd64"
	case macho.CpuArm64:
		return "arm64"
	default:
		return c.String()
	}
}

func peCPU(machine uint16) string {
	switch machine {
	case pe.IMAGE_FILE_MACHINE_AMD64:
		return "amd64"
	case pe.IMAGE_FILE_MACHINE_ARM64:
		return "arm64"
	case pe.IMAGE_FILE_MACHINE_I386:
		return "386"
	default:
		return fmt.Sprintf("machine %#x", machine)
	}
}
