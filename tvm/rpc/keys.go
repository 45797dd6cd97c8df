package rpc

import "sync"

// keys are the keys that a server has given to its tracker. Each serves one session.
type keys struct {
	mu     sync.Mutex
	unused map[string]int // how often the tracker did not know the key any more
	taken  chan struct{}  // receives an element when a key is taken or a slot is free
	closed chan struct{}
	once   sync.Once
}

// take reports whether key is unused, and uses it.
func (k *keys) take(key string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.unused[key]; !ok {
		return false
	}
	delete(k.unused, key)
	return true
}

func (k *keys) close() {}
