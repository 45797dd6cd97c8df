// Package classes is a Go library for tests of classes and enums.
package classes

//go:generate go tool tvmffi-bind export

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/runtime/define"
)

// Level is an enum of ints.
type Level int8

// The levels.
const (
	Low Level = iota
	High
)

// Side is an enum of strings.
type Side string

// The sides.
const (
	Left  Side = "left"
	Right Side = "right"
)

// Account has a lock, a map, and a func of another language.
//
//tvmffi:object opaque
type Account struct {
	mu      sync.Mutex
	owner   string
	level   Level
	entries map[string]int64
	closed  atomic.Int64
	block   chan struct{}
	alive   *[2]int // a smaller object may live as long as its neighbours
}

var (
	live atomic.Int64
	bank sync.Map // owner -> *Account
)

// Open opens an account.
//
//tvmffi:constructor level=1 side=left start=nil
func Open(owner string, level Level, side Side, start *int64) (*Account, error) {
	if owner == "" {
		return nil, errors.New("an account has an owner")
	}
	a := &Account{owner: owner + "/" + string(side), level: level, entries: map[string]int64{}, block: make(chan struct{}), alive: new([2]int)}
	if start != nil {
		a.entries["start"] = *start
	}
	live.Add(1)
	runtime.AddCleanup(a.alive, func(struct{}) { live.Add(-1) }, struct{}{})
	return a, nil
}

// Live counts the accounts that have not ended.
//
//tvmffi:export
func Live() int64 {
	runtime.GC()
	return live.Load()
}

// Put adds to an entry.
//
//tvmffi:method
func (a *Account) Put(name string, n int64) *Account {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.entries[name] += n
	return a
}

// Entries are all entries.
//
//tvmffi:property
func (a *Account) Entries() map[string]int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.entries)
}

// Owner is who owns it.
//
//tvmffi:property
func (a *Account) Owner() string { return a.owner }

// Level is its level.
//
//tvmffi:property
func (a *Account) Level() Level { return a.level }

// Wait waits until it is closed.
//
//tvmffi:method
func (a *Account) Wait() { <-a.block }

// Close ends waiting calls. A second call of it would panic.
//
//tvmffi:method
func (a *Account) Close() error {
	a.closed.Add(1)
	close(a.block)
	return nil
}

// Equal compares owners.
//
//tvmffi:equal
func (a *Account) Equal(other *Account) bool { return a.owner == other.owner }

// Keep keeps an account in Go, under a name.
//
//tvmffi:export
func Keep(name string, a *Account) { bank.Store(name, a) }

// Kept returns an account that Keep kept, or None.
//
//tvmffi:export
func Kept(name string) *Account {
	a, _ := bank.Load(name)
	account, _ := a.(*Account)
	return account
}

// Drop forgets an account.
//
//tvmffi:export
func Drop(name string) { bank.Delete(name) }

// All returns its arguments in other forms.
//
//tvmffi:export
func All(list []*Account, table map[string]*Account) (map[string]*Account, error) {
	all := maps.Clone(table)
	for i, a := range list {
		all[fmt.Sprint(i)] = a
	}
	return all, nil
}

// Visit calls a func with each account, and returns what it returned.
//
//tvmffi:export
func Visit(list []*Account, f func(*Account, Level, Side) (*Account, error)) ([]*Account, error) {
	var visited []*Account
	for _, a := range list {
		other, err := f(a, a.level, Right)
		if err != nil {
			return nil, err
		}
		visited = append(visited, other)
	}
	return visited, nil
}

// Savings is an Account with interest.
//
//tvmffi:object opaque
type Savings struct {
	rate float64
	Account
}

// Save opens savings.
//
//tvmffi:constructor rate=0.5
func Save(rate float64) *Savings {
	return &Savings{rate: rate, Account: Account{owner: "savings", entries: map[string]int64{}, block: make(chan struct{})}}
}

// Rate is the interest.
//
//tvmffi:property
func (s *Savings) Rate() float64 { return s.rate }

// Total returns the sum of an account.
//
//tvmffi:export
func Total(a *Account) int64 {
	sum := int64(0)
	for _, n := range a.Entries() {
		sum += n
	}
	return sum
}

// Holder has an account as a field.
//
//tvmffi:object
type Holder struct {
	Account *Account           `ffi:"account,optional"`
	Levels  []Level            `ffi:"levels"`
	Sides   map[Side]Level     `ffi:"sides"`
	Side    Side               `ffi:"side,default=right"`
	Level   *Level             `ffi:"level,optional"`
	Others  map[Level]*Account `ffi:"others"`
}

// MakeHolder makes a holder with defaults of its own.
//
//tvmffi:constructor account=nil level=1
func MakeHolder(account *Account, level Level) Holder {
	return Holder{Account: account, Levels: []Level{level}, Sides: map[Side]Level{Left: level}, Others: map[Level]*Account{level: account}}
}

// Enums returns its arguments.
//
//tvmffi:export
func Enums(level Level, side Side, levels []Level, sides map[Side]Level, f func(Level) (Side, error)) (map[Level]Side, error) {
	all := map[Level]Side{level: side}
	for _, l := range slices.Concat(levels, slices.Collect(maps.Values(sides))) {
		s, err := f(l)
		if err != nil {
			return nil, err
		}
		all[l] = s
	}
	return all, nil
}

// Instance makes a Point by reference.
//
//tvmffi:constructor y=-2.5
func Instance(x float64, y float64) (*define.Instance[Point], error) {
	return PointType.New(Point{X: x, Y: y})
}

// Point has fields.
//
//tvmffi:object
type Point struct {
	X float64 `ffi:"x"`
	Y float64 `ffi:"y"`
}
