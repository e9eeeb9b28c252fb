// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

// Server grants leases from a [Store]. It is an [idgen.LeaseProvider], safe for
// concurrent use; several servers, in one process or many, may share a store.
type Server struct {
	store   Store
	options Options
	*memory
}

// memory is what a server knows besides the store.
type memory struct {
	clock *clock
	id    string // tells this server from others

	founding chan struct{} // holds one value while a service is made
	full     full          // guarded by founding

	mu   sync.Mutex
	seen map[string]serviceRecord // the record of each service when this server last committed
}

var _ idgen.LeaseProvider = (*Server)(nil)

// NewServer returns a server of the leases in store. It returns what
// [Options.Validate] finds.
func NewServer(store Store, options Options) (*Server, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	known := &memory{clock: newClock(options), id: randomHex(), founding: make(chan struct{}, 1), seen: map[string]serviceRecord{}}
	return &Server{store: store, options: options, memory: known}, nil
}

// WithDuration returns a server of the services that [Options.Services] does not list,
// whose leases last for d. Apart from that it is this server: what one knows of the clock, and of
// losses of the store, the other knows.
func (s *Server) WithDuration(d time.Duration) (*Server, error) {
	options := s.options
	options.Default.Duration = d
	if err := options.Default.Validate(); err != nil {
		return nil, err
	}
	return &Server{store: s.store, options: options, memory: s.memory}, nil
}

// IncarnationTx is implemented by a [Tx] whose store may forget what it has
// acknowledged, after a crash or a failover for instance. A service whose
// incarnation has changed since its last lease is put into quarantine.
type IncarnationTx interface {
	// Incarnation names the life of the store; empty where it is not known.
	Incarnation() string
}

// session is one transaction on the leases of a service.
type session struct {
	server  *Server
	service string
	config  ServiceConfig
	tx      Tx
	now     int64 // Unix milliseconds; see load
	writes  map[string][]byte
	order   []string // of the keys of writes
	known   bool     // the store has the record
	record  serviceRecord
}

// update runs fn in a transaction of the service. What fn writes through the
// session is written when it returns nil.
func (s *Server) update(ctx context.Context, service string, config ServiceConfig, fn func(*session) error) error {
	return s.store.Update(ctx, service, func(tx Tx) error {
		ses := &session{
			server: s, service: service, config: config, tx: tx, writes: map[string][]byte{},
		}
		if err := fn(ses); err != nil {
			return err
		}
		ses.flush()
		return nil
	})
}

// set notes a write; the last one of a key counts. nil deletes.
func (ses *session) set(key, value []byte) {
	if _, again := ses.writes[string(key)]; !again {
		ses.order = append(ses.order, string(key))
	}
	ses.writes[string(key)] = value
}

func (ses *session) flush() {
	for _, key := range ses.order {
		if value := ses.writes[key]; value != nil {
			ses.tx.Set([]byte(key), value)
		} else {
			ses.tx.Delete([]byte(key))
		}
	}
}

// decode reads a record, or returns false if there is none.
func (ses *session) decode(key, value []byte, record interface{ check() error }) (bool, error) {
	if value == nil {
		return false, nil
	}
	return true, decode(ses.service, key, value, record)
}

// load reads the service's record and further keys, whose values it returns. It
// decides which time it is.
func (ses *session) load(ctx context.Context, keys ...[]byte) ([][]byte, error) {
	values, err := ses.tx.Get(ctx, append([][]byte{serviceKey()}, keys...)...)
	if err != nil {
		return nil, err
	}
	if ses.known, err = ses.decode(serviceKey(), values[0], &ses.record); err != nil {
		return nil, err
	}
	longest := max(ses.record.longest(), ses.config.Duration.Milliseconds())
	first := ses.config.Layout.First().UnixMilli()
	ses.now = ses.server.clock.judge(ses.tx.Now(), first, ses.record.Latest, ses.config.tolerance(longest))
	return values[1:], nil
}

// open checks the record that load has read, makes one if there is none, and
// returns the end of the quarantine, which may begin here.
func (ses *session) open() (quarantine int64, err error) {
	if ses.known {
		if err := ses.checkEpoch(); err != nil {
			return 0, err
		}
	}
	store := ""
	if life, ok := ses.tx.(IncarnationTx); ok {
		store = life.Incarnation()
	}
	seen := ses.server.lastSeen(ses.service)
	lost := false
	switch {
	case !ses.known:
		ses.record = newServiceRecord(ses.config)
		ses.record.Unsettled = ses.service != DefaultService
		lost = !ses.server.options.Fresh || seen.Incarnation != ""
	case store != "" && store != ses.record.Store,
		seen.Incarnation != "" && seen.Incarnation != ses.record.Incarnation && seen.Incarnation != ses.record.After:
		lost = true
	default:
		return ses.quarantineEnd(), nil
	}
	ses.record.Store = store
	ses.record.inherit(seen.times)
	if lost {
		ses.quarantine(ses.server.options.Quarantine)
	}
	ses.save()
	return ses.quarantineEnd(), nil
}

// save notes that the service's record is to be written.
func (ses *session) save() { ses.set(serviceKey(), encode(serviceKey(), ses.record)) }

func newServiceRecord(c ServiceConfig) serviceRecord {
	return serviceRecord{
		Epoch: c.Layout.CustomEpochMs, BitReserve: c.Layout.BitReserve, BitTs: c.Layout.BitTs,
		Incarnation: randomHex(),
	}
}

// checkEpoch compares what is stored of the layout with what is configured.
func (ses *session) checkEpoch() error {
	configured := ses.config.Layout
	stored := configured
	stored.CustomEpochMs, stored.BitReserve, stored.BitTs = ses.record.Epoch, ses.record.BitReserve, ses.record.BitTs
	if stored != configured {
		return &CustomEpochError{ServiceID: ses.service, Stored: stored, Configured: configured}
	}
	return nil
}

// lastSeen returns the service's record as it was when this server last
// committed; the zero record if never.
func (s *Server) lastSeen(service string) serviceRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[service]
}

// saw notes the record of a transaction that was committed.
func (s *Server) saw(service string, record serviceRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[service] = record
}

// forget forgets the record of a service that was removed.
func (s *Server) forget(service string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, service)
}

// randomHex returns 128 random bits.
func randomHex() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
