package grammar

import (
	"container/list"

	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
)

// cache keeps the compiled grammars that were used last. It owns one reference to each.
// The lock of the Compiler guards it.
type cache struct {
	entries       map[Spec]*list.Element
	order         *list.List // of *entry, the last used one first
	most          int
	mostBytes     int64
	bytes         int64
	hits, evicted int
}

type entry struct {
	spec     Spec
	compiled *xgrammar.CompiledGrammar
	bytes    int64
}

func newCache(most int, mostBytes int64) *cache {
	return &cache{entries: map[Spec]*list.Element{}, order: list.New(), most: most, mostBytes: mostBytes}
}

// get returns a compiled grammar, which the cache owns, or nil.
func (c *cache) get(s Spec) *xgrammar.CompiledGrammar {
	e := c.entries[s]
	if e == nil {
		return nil
	}
	c.hits++
	c.order.MoveToFront(e)
	return e.Value.(*entry).compiled
}

// put takes over a compiled grammar, and drops those that were not used for longest until the
// rest is in the limits. The newest one stays.
func (c *cache) put(s Spec, compiled *xgrammar.CompiledGrammar, bytes int64) {
	bytes += int64(len(s.Source))
	c.entries[s] = c.order.PushFront(&entry{s, compiled, bytes})
	c.bytes += bytes
	for c.order.Len() > 1 && (c.order.Len() > c.most || c.bytes > c.mostBytes) {
		c.drop(c.order.Back())
		c.evicted++
	}
}

func (c *cache) drop(e *list.Element) {
	old := c.order.Remove(e).(*entry)
	delete(c.entries, old.spec)
	c.bytes -= old.bytes
	old.compiled.Release()
}

func (c *cache) clear() {
	for c.order.Len() > 0 {
		c.drop(c.order.Back())
	}
}
