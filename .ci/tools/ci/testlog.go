package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// event is what the go command writes (go doc test2json, go help buildjson).
type event struct {
	Action, Package, Test, Output string
}

// skip is a test that was skipped.
type skip struct {
	Step, Package, Test, Reason string
}

var (
	position  = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: `)
	framework = regexp.MustCompile(`^\s*(=== |--- )`)
)

// failures are the tests that failed, by their packages. A package without tests there has not been built, or has ended early.
type failures map[string][]string

// Error names the tests.
func (f failures) Error() string {
	var parts []string
	for _, pkg := range slices.Sorted(maps.Keys(f)) {
		parts = append(parts, strings.Join(append([]string{pkg}, f[pkg]...), " "))
	}
	return "tests failed: " + strings.Join(parts, ", ")
}

// readLog prints the results of `go test -json`: one line for each package, and the output of failed
// tests. It returns the skips, and an error if a test failed.
func readLog(in io.Reader, out io.Writer, step string) ([]skip, error) {
	type test struct{ pkg, name string }
	var (
		seen   []skip
		events int
		output = map[test][]string{}
		failed = failures{}
	)
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			break
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			out.Write(line) // of the go command itself
			continue
		}
		events++
		t := test{e.Package, e.Test}
		switch {
		case e.Action == "build-output":
			io.WriteString(out, e.Output)
		case e.Action == "output":
			output[t] = append(output[t], e.Output)
		case e.Action == "skip" && e.Test != "":
			seen = append(seen, skip{step, e.Package, e.Test, reason(output[t])})
		case e.Action == "fail":
			var top []string // none if the package failed without a test
			if e.Test != "" && !strings.Contains(e.Test, "/") {
				top = words{e.Test}
			}
			failed[e.Package] = append(failed[e.Package], top...)
			excerpt(out, output[t])
		case e.Action == "pass" && e.Test == "":
			for _, l := range output[t] {
				if strings.HasPrefix(l, "ok") {
					io.WriteString(out, l)
				}
			}
		}
		if e.Action == "pass" || e.Action == "skip" || e.Action == "fail" {
			delete(output, t)
		}
	}
	if events == 0 {
		return nil, errors.New("no test was run")
	}
	if len(failed) > 0 {
		// If a process ends early, the end of its tests is missing.
		for t, text := range output {
			if t.name != "" {
				excerpt(out, text)
			}
		}
		return seen, failed
	}
	return seen, nil
}

// reason is what a test printed, without the lines of the test framework.
func reason(output []string) string {
	var parts []string
	for _, l := range output {
		if framework.MatchString(l) {
			continue
		}
		if l = strings.TrimSpace(position.ReplaceAllString(l, "")); l != "" {
			parts = append(parts, l)
		}
	}
	return strings.Join(parts, " ")
}

// excerpt prints the beginning and the end of a long text.
func excerpt(out io.Writer, lines []string) {
	const head, tail = 150, 50
	if len(lines) > head+tail+1 {
		cut := fmt.Sprintf("... %d lines ...\n", len(lines)-head-tail)
		lines = slices.Concat(lines[:head], []string{cut}, lines[len(lines)-tail:])
	}
	for _, l := range lines {
		io.WriteString(out, l)
	}
}

// rule allows tests to be skipped: the patterns of the step and of the test match as a
// whole, that of the reason anywhere.
type rule struct {
	line               string
	step, test, reason *regexp.Regexp
}

func (r rule) allows(s skip) bool {
	return r.step.MatchString(s.Step) && r.test.MatchString(s.Test) && r.reason.MatchString(s.Reason)
}

// parse reads lines of three patterns, for a step, a test and a reason; a # starts a
// comment line. The first two have no spaces.
func parse(text string) ([]rule, error) {
	var all []rule
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		step, rest, _ := strings.Cut(line, " ")
		test, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if reason = strings.TrimSpace(reason); reason == "" {
			return nil, fmt.Errorf("line %d: want patterns of a step, a test and its reason", n)
		}
		var compiled [3]*regexp.Regexp
		for i, pattern := range []string{"^(?:" + step + ")$", "^(?:" + test + ")$", reason} {
			re, err := regexp.Compile(pattern)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			compiled[i] = re
		}
		all = append(all, rule{line, compiled[0], compiled[1], compiled[2]})
	}
	return all, nil
}

// judge fails if a skip is allowed by no rule.
func judge(out io.Writer, rules []rule, seen []skip) error {
	used := make([]bool, len(rules))
	steps := map[string]bool{}
	bad := 0
	for _, s := range seen {
		steps[s.Step] = true
		i := slices.IndexFunc(rules, func(r rule) bool { return r.allows(s) })
		word := "allowed"
		if i < 0 {
			word = "NOT ALLOWED"
			bad++
		} else {
			used[i] = true
		}
		fmt.Fprintf(out, "%s: %s: %s of %s: %s\n", word, s.Step, s.Test, s.Package, s.Reason)
	}
	for i, r := range rules {
		if !used[i] && slices.ContainsFunc(slices.Collect(maps.Keys(steps)), r.step.MatchString) {
			fmt.Fprintf(out, "not used: %s\n", r.line)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d tests were skipped without a rule; make them run, or add a rule to .ci/skips with the step, the test and the reason", bad)
	}
	return nil
}
