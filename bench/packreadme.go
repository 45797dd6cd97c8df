package main

import (
	_ "embed" // of the text for readers
	"fmt"
	"os"
	"strings"

	"github.com/tvmffi-go/tvmffi/bench/gpupack"
)

// leftOut says why a part is not in a pack.
func leftOut(name, parts string) string {
	if parts != "" {
		return name + ": this pack was made without it, by -parts " + parts
	}
	return name + ": this pack was made without it; bench/gpu -pack DIR -libraries makes one that has it"
}

//go:embed testdata/pack.md
var packReadme string

// readme writes what somebody reads who has nothing but the pack.
func (p *packer) readme() error {
	var list strings.Builder
	for _, part := range p.manifest.Parts {
		fmt.Fprintf(&list, "- %s%s\n", part.Name, needs(part))
	}
	for _, left := range p.manifest.Left {
		fmt.Fprintf(&list, "- not here: %s\n", left)
	}
	file, err := p.at("README.md")
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.NewReplacer("COMMIT", p.manifest.Commit, "PARTS\n", list.String()).Replace(packReadme)), 0o644)
}

// needs says what a part needs more than others.
func needs(p gpupack.Part) string {
	switch {
	case p.Devices > 1:
		return fmt.Sprintf(" (only with %d devices)", p.Devices)
	case p.CUDA > 0:
		return fmt.Sprintf(" (only with a driver of CUDA %d or newer)", p.CUDA/1000)
	}
	return ""
}
