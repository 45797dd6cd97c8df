package rpc

import (
	"crypto/rand"
	"sync"
)

// keys are the keys that a server has given to its tracker. Each serves one session.
type keys struct {
	mu      sync.Mutex
	room    int            // how many sessions the server can begin, without those of unused keys
	unused  map[string]int // how often in succession the tracker did not have the key
	changed chan struct{}  // receives an element when there may be room for another key
}

func newKeys(room int) *keys {
	return &keys{room: room, unused: map[string]int{}, changed: make(chan struct{}, 1)}
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

// free makes room for another key, after the session of one.
func (k *keys) free() {
	k.mu.Lock()
	k.room++
	k.mu.Unlock()
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// make returns new keys for all the room that there is.
func (k *keys) make(prefix string) (made []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for ; k.room > 0; k.room-- {
		key := prefix + ":" + rand.Text()
		k.unused[key] = 0
		made = append(made, key)
	}
	return made
}

// all returns the unused keys.
func (k *keys) all() (unused []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.unused {
		unused = append(unused, key)
	}
	return unused
}

// check compares the unused keys with the tracker's. A key that a client asked for and did not
// use for several checks is void, which makes room for another one.
func (k *keys) check(pending []string) {
	has := map[string]bool{}
	for _, key := range pending {
		has[key] = true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, missed := range k.unused {
		switch {
		case has[key]:
			k.unused[key] = 0
		case missed < maxMissed:
			k.unused[key]++
		default:
			delete(k.unused, key)
			k.room++
		}
	}
}

// maxMissed is for how many checks a client may wait until it uses its key.
const maxMissed = 4
