package rpc

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// These limit the offers and answers that one connection to a tracker may have open. Real
// connections stay far below.
const (
	maxOffers  = 4096
	maxAnswers = 256
)

// A market matches servers' offers with clients' requests.
type market struct {
	mu     sync.Mutex
	queues map[string]*queue
	peers  map[*peer]ServerInfo // the servers
	count  int                  // of requests, in the order of their arrival
	given  int64                // places
}

// A queue has the offers and the requests for one key. One of the lists is empty.
type queue struct {
	offers   []offer   // the oldest first
	requests []request // the next one first
}

// An offer is one session of a server.
type offer struct {
	server   *peer
	key      string
	host     string
	port     int
	matchKey string
}

// A request is a client that waits for a server.
type request struct {
	client   *peer
	priority int
	number   int
}

func (m *market) init() { m.queues, m.peers = map[string]*queue{}, map[*peer]ServerInfo{} }

func (m *market) queue(key string) *queue {
	q := m.queues[key]
	if q == nil {
		q = &queue{}
		m.queues[key] = q
	}
	return q
}

func (m *market) offer(o offer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(o.server.offers) >= maxOffers {
		return fmt.Errorf("%w: it offers more than %d sessions", ErrProtocol, maxOffers)
	}
	o.server.offers[o.matchKey] = true
	q := m.queue(o.key)
	q.offers = append(q.offers, o)
	m.match(q)
	return nil
}

func (m *market) request(client *peer, key string, priority int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if client.requests >= maxAnswers {
		return fmt.Errorf("%w: it waits for more than %d servers", ErrProtocol, maxAnswers)
	}
	client.requests++
	m.count++
	q := m.queue(key)
	r := request{client, priority, m.count}
	i, _ := slices.BinarySearchFunc(q.requests, r, func(a, b request) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.number, b.number))
	})
	q.requests = slices.Insert(q.requests, i, r)
	m.match(q)
	return nil
}

// silentServer is after which silence a server gets no clients: TVM's servers ask every two seconds for their offers.
const silentServer = 5 * pollPeriod

// heard notes that a peer lives, and gives its offers to those who wait, if it was silent before.
func (m *market) heard(p *peer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := p.heard
	p.heard = time.Now()
	if before.IsZero() || p.heard.Sub(before) < silentServer {
		return
	}
	for _, q := range m.queues {
		m.match(q)
	}
}

// match gives the offers of servers that live to the requests that are next.
func (m *market) match(q *queue) {
	for len(q.requests) > 0 {
		i := slices.IndexFunc(q.offers, func(o offer) bool { return time.Since(o.server.heard) < silentServer })
		if i < 0 {
			return
		}
		o, r := q.offers[i], q.requests[0]
		q.requests = q.requests[1:]
		r.client.requests--
		if r.client.answer([]any{trackerSuccess, []any{o.host, o.port, o.matchKey}}) != nil {
			continue // the client is about to leave
		}
		delete(o.server.offers, o.matchKey)
		q.offers = slices.Delete(q.offers, i, i+1)
		m.given++
	}
}

// leave removes the offers and requests of a peer.
func (m *market) leave(p *peer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.peers, p)
	for key, q := range m.queues {
		q.offers = slices.DeleteFunc(q.offers, func(o offer) bool { return o.server == p })
		q.requests = slices.DeleteFunc(q.requests, func(r request) bool { return r.client == p })
		if len(q.offers)+len(q.requests) == 0 && !m.serves(key) {
			delete(m.queues, key)
		}
	}
}

// serves reports whether a server with the key is registered.
func (m *market) serves(key string) bool {
	for _, info := range m.peers {
		if info.Key == "server:"+key {
			return true
		}
	}
	return false
}

func (m *market) describe(p *peer, info ServerInfo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.peers[p] = info
}

func (m *market) summary() Summary {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Summary{Queues: map[string]Queue{}, Servers: []ServerInfo{}}
	for key, q := range m.queues {
		s.Queues[key] = Queue{len(q.offers), len(q.requests)}
	}
	for _, info := range m.peers {
		if strings.HasPrefix(info.Key, "server") {
			s.Servers = append(s.Servers, info)
		}
	}
	slices.SortFunc(s.Servers, func(a, b ServerInfo) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return s
}

func (m *market) pending(p *peer) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := []string{}
	for key := range p.offers {
		keys = append(keys, key)
	}
	return keys
}

// A peer is a connection to the tracker. The market guards its offers and requests.
type peer struct {
	conn     net.Conn
	host     string
	heard    time.Time // when its last message came
	answers  chan []byte
	offers   map[string]bool
	requests int
}

// answer queues an answer. A peer that does not read its answers is cut off.
func (p *peer) answer(v any) error {
	b, err := encodeMessage(v)
	if err != nil {
		return err
	}
	select {
	case p.answers <- b:
		return nil
	default:
		p.conn.Close()
		return errors.New("the peer does not read its answers")
	}
}

// send sends the answers of a peer.
func (p *peer) send() {
	for b := range p.answers {
		p.conn.SetWriteDeadline(time.Now().Add(trackerTimeout))
		if _, err := p.conn.Write(b); err != nil {
			p.conn.Close()
		}
	}
}
