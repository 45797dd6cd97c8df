package core

// Nodes is how many nodes there are, free ones among them.
func Nodes() int {
	slots.mu.Lock()
	defer slots.mu.Unlock()
	return slots.nodes
}
