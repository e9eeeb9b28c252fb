// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

// Server grants leases from a [Store]. It is an [idgen.LeaseProvider], safe for
// concurrent use; several servers, in one process or many, may share a store.
type Server struct {
	store   Store
	options Options

	mu   sync.Mutex
	seen map[string]string // service → incarnation of its record in the store
}

var _ idgen.LeaseProvider = (*Server)(nil)

// NewServer returns a server of the leases in store. It returns what
// [Options.Validate] finds.
func NewServer(store Store, options Options) (*Server, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	return &Server{store: store, options: options.withDefaults(), seen: map[string]string{}}, nil
}

// Incarnate is implemented by a [Tx] whose store may forget what it has
// acknowledged, after a crash or a failover for instance. A service whose
// incarnation has changed since its last lease is put into quarantine.
type Incarnate interface {
	// Incarnation names the life of the store; empty where it is not known.
	Incarnation() string
}

// session is one transaction on the leases of a service.
type session struct {
	server  *Server
	service string
	config  ServiceConfig
	tx      Tx
	now     int64 // Unix milliseconds
	writes  map[string][]byte
	order   []string // of the keys of writes
	record  serviceRecord
}

// update runs fn in a transaction of the service. What fn writes through the
// session is written when it returns nil.
func (s *Server) update(ctx context.Context, service string, config ServiceConfig, fn func(*session) error) error {
	return s.store.Update(ctx, service, func(tx Tx) error {
		ses := &session{
			server: s, service: service, config: config, tx: tx,
			now: tx.Now().UnixMilli(), writes: map[string][]byte{},
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

// open reads the service's record, given its value, and returns the end of the
// quarantine, which may begin here.
func (ses *session) open(value []byte) (quarantine int64, err error) {
	known, err := ses.decode(serviceKey(), value, &ses.record)
	if err != nil {
		return 0, err
	}
	if known {
		if err := ses.checkEpoch(); err != nil {
			return 0, err
		}
	}
	store := ""
	if life, ok := ses.tx.(Incarnate); ok {
		store = life.Incarnation()
	}
	seen := ses.server.incarnation(ses.service)
	lost := false
	switch {
	case !known:
		ses.record = newServiceRecord(ses.config)
		lost = !ses.server.options.Fresh || seen != ""
	case store != "" && store != ses.record.Store, seen != "" && seen != ses.record.Incarnation:
		lost = true
	default:
		return ses.record.Quarantine, nil
	}
	ses.record.Store = store
	if lost {
		ses.record.Quarantine = max(ses.record.Quarantine, ses.now+ses.server.options.quarantine(ses.config).Milliseconds())
	}
	ses.set(serviceKey(), encode(serviceKey(), ses.record))
	return ses.record.Quarantine, nil
}

func newServiceRecord(c ServiceConfig) serviceRecord {
	return serviceRecord{
		Epoch: c.Layout.EpochMs, BitReserve: c.Layout.BitReserve, BitTs: c.Layout.BitTs,
		Incarnation: randomHex(),
	}
}

// checkEpoch compares what is stored of the layout with what is configured.
func (ses *session) checkEpoch() error {
	configured := ses.config.Layout
	stored := configured
	stored.EpochMs, stored.BitReserve, stored.BitTs = ses.record.Epoch, ses.record.BitReserve, ses.record.BitTs
	if stored != configured {
		return &EpochError{ServiceID: ses.service, Stored: stored, Configured: configured}
	}
	return nil
}

// incarnation returns what the service's record was when this server last
// committed; empty if never.
func (s *Server) incarnation(service string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[service]
}

// saw notes the record of a transaction that was committed.
func (s *Server) saw(service, incarnation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[service] = incarnation
}

// Quarantine grants nothing of the service for a time, at least until the end
// of a quarantine under way: [Options.Quarantine] if d is 0. Call it after the
// store was restored from a backup, whose leases are those of another day.
func (s *Server) Quarantine(ctx context.Context, serviceID string, d time.Duration) (until time.Time, err error) {
	return s.setQuarantine(ctx, serviceID, func(ses *session) int64 {
		if d == 0 {
			d = s.options.quarantine(ses.config)
		}
		return max(ses.record.Quarantine, ses.now+d.Milliseconds())
	})
}

// EndQuarantine grants leases of the service again at once. Call it only when it
// is certain that no lease is in use which the store does not know: when a
// server whose clock was far ahead began the quarantine, for instance, or all
// programs have been stopped.
func (s *Server) EndQuarantine(ctx context.Context, serviceID string) error {
	_, err := s.setQuarantine(ctx, serviceID, func(*session) int64 { return 0 })
	return err
}

// setQuarantine changes the end of the quarantine.
func (s *Server) setQuarantine(ctx context.Context, serviceID string, end func(*session) int64) (until time.Time, err error) {
	service, config, err := s.options.service(serviceID)
	if err != nil {
		return time.Time{}, err
	}
	var incarnation string
	err = s.update(ctx, service, config, func(ses *session) error {
		values, err := ses.tx.Get(ctx, serviceKey())
		if err != nil {
			return err
		}
		if _, err := ses.open(values[0]); err != nil {
			return err
		}
		ses.record.Quarantine = end(ses)
		ses.set(serviceKey(), encode(serviceKey(), ses.record))
		until, incarnation = time.UnixMilli(ses.record.Quarantine), ses.record.Incarnation
		return nil
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("lease: quarantine of service %q: %w", service, err)
	}
	s.saw(service, incarnation)
	return until, nil
}

// randomHex returns 128 random bits.
func randomHex() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
