package golib

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Person has tags but no directive, and fields that a caller may leave out.
type Person struct {
	Name   string    `ffi:"name"`
	Age    int64     `ffi:"age,default=7"`
	Scores []float64 `ffi:"scores,optional"`
	Friend *Person   `ffi:"friend,optional"`
	Note   any       `ffi:"note,optional"`
}

// Introduce describes a person, and the friend, whose friend comes next.
//
//tvmffi:export
func Introduce(p Person) string {
	text := fmt.Sprint(p.Name, " ", p.Age)
	if len(p.Scores) > 0 {
		text += fmt.Sprint(" ", p.Scores)
	}
	if p.Note != nil {
		text += fmt.Sprintf(" (%T)", p.Note)
	}
	if p.Friend != nil {
		text += " and " + Introduce(*p.Friend)
	}
	return text
}

// IntroduceAll describes persons, each in a group of its own.
//
//tvmffi:export
func IntroduceAll(groups map[string][]Person, others ...Person) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		for _, p := range groups[name] {
			all = append(all, name+": "+Introduce(p))
		}
	}
	for _, p := range others {
		all = append(all, Introduce(p))
	}
	return strings.Join(all, "; ")
}

// Interview describes the persons that find returns for names.
//
//tvmffi:export
func Interview(names []string, find func(name string) (Person, error)) (string, error) {
	var all []string
	for _, name := range names {
		p, err := find(name)
		if err != nil {
			return "", err
		}
		all = append(all, Introduce(p))
	}
	return strings.Join(all, "; "), nil
}

// Host returns a function that greets a person.
//
//tvmffi:export
func Host(word string) func(Person) (string, error) {
	return func(p Person) (string, error) { return word + ", " + Introduce(p), nil }
}

// Task is a record with values that other languages show in their own way.
type Task struct {
	Name  string          `ffi:"name"`
	Wait  time.Duration   `ffi:"wait,default=1.5s"`
	Waits []time.Duration `ffi:"waits,optional"`
	Costs []float64       `ffi:"costs,optional"`
	Owner *Person         `ffi:"owner,optional"`
}

// Summary returns the sums of a task, and the owner.
//
//tvmffi:export
func Summary(t Task) (wait time.Duration, cost float64, owner string) {
	wait = t.Wait
	for _, w := range t.Waits {
		wait += w
	}
	for _, c := range t.Costs {
		cost += c
	}
	if t.Owner != nil {
		owner = Introduce(*t.Owner)
	}
	return wait, cost, owner
}

// Longest returns the longest of durations.
//
//tvmffi:export
func Longest(plain []time.Duration, named map[string]time.Duration) time.Duration {
	var longest time.Duration
	for _, d := range plain {
		longest = max(longest, d)
	}
	for _, d := range named {
		longest = max(longest, d)
	}
	return longest
}

// Waiter returns a function that adds durations.
//
//tvmffi:export
func Waiter() func(time.Duration, []time.Duration, map[string]time.Duration) (time.Duration, error) {
	return func(sum time.Duration, plain []time.Duration, named map[string]time.Duration) (time.Duration, error) {
		for _, d := range plain {
			sum += d
		}
		for _, d := range named {
			sum += d
		}
		return sum, nil
	}
}

// Club has fields that are records.
//
//tvmffi:object
type Club struct {
	Head    Person   `ffi:"head"`
	Members []Person `ffi:"members"`
}

// Roll describes the head and the members.
//
//tvmffi:method
func (c Club) Roll() string {
	return IntroduceAll(map[string][]Person{"head": {c.Head}}, c.Members...)
}

// StrangerError says that nobody knows a person.
//
//tvmffi:error
type StrangerError struct {
	Who Person `ffi:"who"`
}

// Error describes the error.
func (e *StrangerError) Error() string { return "nobody knows " + Introduce(e.Who) }
