package structural

// KeyBuckets returns the number of hashes that the table of keys has.
func KeyBuckets() int {
	keyEntries.mu.Lock()
	defer keyEntries.mu.Unlock()
	return len(keyEntries.buckets)
}
