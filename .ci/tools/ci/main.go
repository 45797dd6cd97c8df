// Command ci runs the checks of the project. .ci/run builds and starts it:
//
//	.ci/run                 the steps of a submission that its changes can reach
//	.ci/run all             all of them, and the steps of the night: also before a tag
//	.ci/run static modes    the same of some groups; "all" may stand beside them
//	.ci/run race vet        these steps, whatever has changed
//	.ci/run --list          the groups and their steps
//
// The steps are a table in steps.go. Two of them run at a time, because most wait much. The output
// of a step comes when it has ended; a failing step does not stop the others. A test that fails runs
// five times more, alone, to help find the cause; its step has failed. Downloads and builds stay in
// the caches of the user, except those of the steps demo and test, which begin with empty caches.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	root := flag.String("root", ".", "the folder of the repository")
	scratch := flag.String("scratch", "", "an empty folder, which the end of the run removes")
	list := flag.Bool("list", false, "list the groups and their steps")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	status := 0
	if *list {
		printList()
	} else if err := start(ctx, *root, *scratch, flag.Args()); err != nil {
		fmt.Println(err)
		status = 1
	}
	if *scratch != "" {
		removeAll(*scratch)
	}
	os.Exit(status)
}

func printList() {
	for _, group := range groups() {
		fmt.Println(group)
		for _, s := range steps {
			if s.group == group {
				fmt.Printf("\t%-12s %-6s %s\n", s.name, map[bool]string{true: "night"}[s.night], s.about)
			}
		}
	}
}

// groups lists the groups in the order of the table.
func groups() []string {
	var list []string
	for _, s := range steps {
		if !slices.Contains(list, s.group) {
			list = append(list, s.group)
		}
	}
	return list
}

func start(ctx context.Context, root, scratch string, args []string) error {
	if scratch == "" {
		return fmt.Errorf("start .ci/run, which passes -scratch")
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := os.Setenv("CGO_ENABLED", "1"); err != nil {
		return err
	}
	changed, err := findChanges(ctx)
	if err != nil {
		return err
	}
	chosen, left, err := choose(args, changed)
	if err != nil {
		return err
	}
	fmt.Println(changed.why)
	if len(left) > 0 {
		fmt.Println("no change reaches", strings.Join(left, " "))
	}
	return (&run{out: os.Stdout, scratch: scratch, changed: changed}).all(ctx, chosen)
}

// choose returns the steps that the arguments ask for, and the names of those that no change reaches.
func choose(args []string, changed *changes) (chosen []step, left []string, err error) {
	named, inGroup, all := map[string]bool{}, map[string]bool{}, false
	for _, arg := range args {
		switch {
		case arg == "all":
			all = true
		case slices.Contains(groups(), arg):
			inGroup[arg] = true
		case slices.ContainsFunc(steps, func(s step) bool { return s.name == arg }):
			named[arg] = true
		default:
			return nil, nil, fmt.Errorf("no step or group is called %s; .ci/run --list shows them", arg)
		}
	}
	for _, s := range steps {
		switch {
		case named[s.name]:
		case len(named) > 0 && len(inGroup) == 0, len(inGroup) > 0 && !inGroup[s.group]:
			continue
		case all:
		case s.night:
			continue
		case !changed.reach(s.on):
			left = append(left, s.name)
			continue
		}
		chosen = append(chosen, s)
	}
	changed.all = changed.all || all || len(named) > 0 // for the step fuzz
	return chosen, left, nil
}
