package golib

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Index finds texts by their words. Other languages see its methods, not its fields. Any
// number of threads may use one.
//
//tvmffi:object opaque
type Index struct {
	mu    sync.RWMutex
	fold  bool
	texts []string
	at    map[string][]int // the numbers of the texts with a word
}

// NewIndex makes an empty index. With fold it does not distinguish upper and lower case.
//
//tvmffi:constructor fold=true
func NewIndex(fold bool) *Index {
	return &Index{fold: fold, at: map[string][]int{}}
}

// Add adds a text and returns its number.
//
//tvmffi:method
func (x *Index) Add(text string) (int, error) {
	words := strings.Fields(x.key(text))
	if len(words) == 0 {
		return 0, fmt.Errorf("the text %q has no words", text)
	}
	slices.Sort(words)
	x.mu.Lock()
	defer x.mu.Unlock()
	n := len(x.texts)
	x.texts = append(x.texts, text)
	for _, word := range slices.Compact(words) {
		x.at[word] = append(x.at[word], n)
	}
	return n, nil
}

// Find returns the texts with a word, in the order in which they were added.
//
//tvmffi:method
func (x *Index) Find(word string) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var found []string
	for _, n := range x.at[x.key(word)] {
		found = append(found, x.texts[n])
	}
	return found
}

// Len returns the number of texts.
//
//tvmffi:method
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.texts)
}

// Words is the number of different words.
//
//tvmffi:property
func (x *Index) Words() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.at)
}

// Close frees the texts. It waits for the calls that are still running.
//
//tvmffi:method
func (x *Index) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.texts, x.at = nil, nil
}

// String describes the index.
//
//tvmffi:repr
func (x *Index) String() string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return fmt.Sprintf("Index(%d texts, %d words)", len(x.texts), len(x.at))
}

// Merged returns a new index of the texts of all indices.
//
//tvmffi:export
func Merged(indices []*Index) (*Index, error) {
	all := NewIndex(true)
	for _, x := range indices {
		for _, text := range x.all() {
			if _, err := all.Add(text); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// all returns the texts.
func (x *Index) all() []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Clone(x.texts)
}

func (x *Index) key(text string) string {
	if x.fold {
		return strings.ToLower(text)
	}
	return text
}
