package classes

import (
	"context"
	"iter"
	"slices"
)

// Entry is a record with an account.
type Entry struct {
	Account *Account   `ffi:"account"`
	More    []*Account `ffi:"more"`
}

// Entered makes a record.
//
//tvmffi:export
func Entered(a *Account) Entry { return Entry{a, []*Account{a}} }

// Twice has two results.
//
//tvmffi:export
func Twice(a *Account) (first *Account, all []*Account) { return a, []*Account{a, a} }

// Each yields accounts.
//
//tvmffi:export
func Each(list []*Account) iter.Seq[*Account] { return slices.Values(list) }

// Later returns an account.
//
//tvmffi:export
func Later(_ context.Context, a *Account) (*Account, error) { return a, nil }

// Giver returns a func that returns an account.
//
//tvmffi:export
func Giver(a *Account) func() *Account { return func() *Account { return a } }

// Anything returns its argument.
//
//tvmffi:export
func Anything(x any) any { return x }

// Told calls a func with a list, and with values of any type.
//
//tvmffi:export
func Told(a *Account, tell func(list []*Account, any any) any) any {
	return tell([]*Account{a}, map[string]any{"a": []any{a}})
}

// Refused is an error about an account.
//
//tvmffi:error
type Refused struct {
	Account *Account `ffi:"account"`
}

// Error says so.
func (*Refused) Error() string { return "refused" }

// Refuse refuses an account.
//
//tvmffi:export
func Refuse(a *Account) error { return &Refused{a} }

// Me is the account.
//
//tvmffi:property
func (a *Account) Me() *Account { return a }
