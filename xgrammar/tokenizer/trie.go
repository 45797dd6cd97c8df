package tokenizer

import (
	"slices"
	"strings"
)

// trie finds the texts of a list with which a text begins.
type trie struct {
	nodes []trieNode
	first [256]int32 // of the root: the child of a byte, 0 without one
}

type trieNode struct {
	child, children int32 // the first of its children, which are side by side, and their number
	value           int32 // of the text that ends here, -1 without one
	label           byte
}

// newTrie makes a trie. The value of a text is its place in the list; if it is there twice, the latter counts.
func newTrie(texts []string) *trie {
	order := make([]int32, 0, len(texts))
	for i, text := range texts {
		if text != "" {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return strings.Compare(texts[a], texts[b]) })
	t := &trie{nodes: []trieNode{{value: -1}}}
	type work struct {
		node  int32
		depth int
		texts []int32
	}
	for queue := []work{{0, 0, order}}; len(queue) > 0; {
		w := queue[0]
		queue = queue[1:]
		for len(w.texts) > 0 && len(texts[w.texts[0]]) == w.depth {
			t.nodes[w.node].value = w.texts[0]
			w.texts = w.texts[1:]
		}
		t.nodes[w.node].child = int32(len(t.nodes))
		for len(w.texts) > 0 {
			label, n := texts[w.texts[0]][w.depth], 1
			for n < len(w.texts) && texts[w.texts[n]][w.depth] == label {
				n++
			}
			if w.node == 0 {
				t.first[label] = int32(len(t.nodes))
			}
			queue = append(queue, work{int32(len(t.nodes)), w.depth + 1, w.texts[:n]})
			t.nodes = append(t.nodes, trieNode{value: -1, label: label})
			t.nodes[w.node].children++
			w.texts = w.texts[n:]
		}
	}
	return t
}

// root is the node at which a search begins.
func (t *trie) root(b byte) int32 { return t.first[b] }

// next returns the child of a node, or 0.
func (t *trie) next(node int32, b byte) int32 {
	n := &t.nodes[node]
	low, high := n.child, n.child+n.children
	for high-low > 8 {
		if middle := (low + high) / 2; t.nodes[middle].label <= b {
			low = middle
		} else {
			high = middle
		}
	}
	for ; low < high; low++ {
		if t.nodes[low].label == b {
			return low
		}
	}
	return 0
}
