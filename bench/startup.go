package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Programs that differ in what they import and use. The blank imports of two
// generated packages must cost nothing in addition to the runtime.
var programs = []struct{ name, title, imports, body string }{
	{"hello", "prints a line", "", ""},
	{"runtime", "and imports the runtime", "_ \"github.com/tvmffi-go/tvmffi/runtime\"", ""},
	{"generated", "and imports generated/ffi and generated/testing", "_ \"github.com/tvmffi-go/tvmffi/generated/ffi\"\n_ \"github.com/tvmffi-go/tvmffi/generated/testing\"", ""},
	{"one", "and can call 1 function", "\"github.com/tvmffi-go/tvmffi/generated/testing\"", use[:1].String()},
	{"seven", "and can call 7 functions", "\"github.com/tvmffi-go/tvmffi/generated/testing\"", use.String()},
}

// calls are statements of a branch that never runs.
type calls []string

// String is the statement that holds them.
func (c calls) String() string { return "if len(os.Args) > 9 {\n" + strings.Join(c, "\n") + "\n}" }

var use = calls{
	"fmt.Println(testing.AddOne(1))",
	"fmt.Println(testing.SchemaIDInt(1))",
	"fmt.Println(testing.SchemaIDFloat(1))",
	"fmt.Println(testing.SchemaIDBool(true))",
	"fmt.Println(testing.SchemaIDString(\"\"))",
	"fmt.Println(testing.SchemaIDBytes(nil))",
	"fmt.Println(testing.SchemaNoArgs())",
}

type startup struct {
	ms   [][]float64
	size []int64
}

// startup measures how long each of the programs runs, and how large it is.
func (t *tree) startup(ctx context.Context, runs int) (*startup, error) {
	files := map[string]string{}
	for _, p := range programs {
		files[p.name+"/main.go"] = fmt.Sprintf("package main\n\nimport (\n\"fmt\"\n\"os\"\n%s\n)\n\nfunc main() {\n%s\nfmt.Fprintln(os.Stdout, \"hello\")\n}\n", p.imports, p.body)
	}
	fmt.Fprintln(os.Stderr, "building programs of different size")
	module, err := t.scratch(ctx, "startup", files)
	if err != nil {
		return nil, err
	}
	s := &startup{ms: make([][]float64, len(programs))}
	binaries := make([]string, len(programs))
	for i, p := range programs {
		if binaries[i], err = t.goBuild(ctx, filepath.Join(module, p.name), "startup-"+p.name, "CGO_ENABLED=0"); err != nil {
			return nil, err
		}
		info, err := os.Stat(binaries[i])
		if err != nil {
			return nil, err
		}
		s.size = append(s.size, info.Size())
	}
	for round := range runs + 1 {
		for i, binary := range binaries {
			start := time.Now()
			if _, err := command(ctx, "", nil, binary); err != nil {
				return nil, err
			}
			if round > 0 {
				s.ms[i] = append(s.ms[i], float64(time.Since(start).Microseconds())/1000)
			}
		}
	}
	return s, nil
}

func (s *startup) text() string {
	var b strings.Builder
	b.WriteString("| a program that | runs for | has |\n|---|---|---|\n")
	for i, p := range programs {
		fmt.Fprintf(&b, "| %s | %.2f ms | %d kB |\n", p.title, median(s.ms[i]), s.size[i]/1000)
	}
	fmt.Fprintf(&b, "\nEach function that is used adds about %.1f kB.\n", float64(s.size[4]-s.size[3])/6/1000)
	return b.String()
}
