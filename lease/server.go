// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

// Server grants leases from a [Store]. It is an [idgen.LeaseProvider], safe for
// concurrent use; several servers, in one process or many, may share a store.
type Server struct {
	store   Store
	options Options
	*serverState
}

// serverState is what a server knows besides the store. Servers that
// [Server.WithDuration] returned share it.
type serverState struct {
	clock *clock
	id    string // tells this server from others

	creation    chan struct{} // a lock: holds one value while a service is created
	lastRefusal fullStore     // guarded by creation

	mu   sync.Mutex
	seen map[string]serviceRecord // the record of each service when this server last committed

	passed map[string]passedOver // guarded by mu: services with rows that cannot be read
}

var _ idgen.LeaseProvider = (*Server)(nil)

// NewServer returns a server of the leases in store. It returns what
// [Options.Validate] finds.
func NewServer(store Store, options Options) (*Server, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	state := &serverState{clock: newClock(options), id: randomHex(), creation: make(chan struct{}, 1), seen: map[string]serviceRecord{}, passed: map[string]passedOver{}}
	return &Server{store: store, options: options, serverState: state}, nil
}

// WithDuration returns a server that grants leases of length d for the services that
// [Options.Services] does not list. Apart from that it is this server: the two share
// what they know of the clock and of losses of the store.
func (s *Server) WithDuration(d time.Duration) (*Server, error) {
	options := s.options
	options.Default.Duration = d
	if err := options.Default.Validate(); err != nil {
		return nil, err
	}
	return &Server{store: s.store, options: options, serverState: s.serverState}, nil
}

// lastSeen returns the service's record as it was when this server last
// committed; the zero record if never.
func (s *serverState) lastSeen(service string) serviceRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[service]
}

// rememberRecord keeps the record of a transaction that was committed.
//
// Other servers remove services, of which this one learns nothing. So it keeps as many as
// the store may have, and as many more, and then forgets the one that has the earliest end
// of its leases.
func (s *Server) rememberRecord(service string, record serviceRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[service] = record
	if len(s.seen) <= 2*s.options.MaxServices+len(s.options.Services)+1 {
		return
	}
	first, end := "", int64(math.MaxInt64)
	for id, r := range s.seen {
		if id != service && r.lastEnd() < end {
			first, end = id, r.lastEnd()
		}
	}
	delete(s.seen, first)
}

// forgetRecord forgets the record of a service that was removed.
func (s *serverState) forgetRecord(service string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, service)
}

// seenServices returns the services that this server has granted leases of.
func (s *serverState) seenServices() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.seen))
}

// randomHex returns 128 random bits.
func randomHex() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// updateService runs fn in a transaction of the service. What fn writes is
// written if it returns nil.
func (s *Server) updateService(ctx context.Context, service string, config ServiceConfig, fn func(*serviceTx) error) error {
	return s.store.Update(ctx, service, func(store Tx) error {
		tx := &serviceTx{server: s, service: service, config: config, store: store, writes: map[string][]byte{}}
		if err := fn(tx); err != nil {
			return err
		}
		tx.flush()
		return nil
	})
}

// Services returns the ids of the services that the store knows, in ascending
// order: those greater than after, at most limit of them, 1 to 1000; 0 means 1000.
// Errors: [ErrInvalid], those of the store, and one that wraps
// [errors.ErrUnsupported] where that is not an [Enumerator].
func (s *Server) Services(ctx context.Context, after string, limit int) ([]string, error) {
	if limit == 0 {
		limit = maxPage
	}
	if limit < 0 || limit > maxPage {
		return nil, fmt.Errorf("%w: a limit of %d services; it must be from 0 to %d", ErrInvalid, limit, maxPage)
	}
	store, ok := s.store.(Enumerator)
	if !ok {
		return nil, fmt.Errorf("lease: the store cannot tell which services it knows: %w", errors.ErrUnsupported)
	}
	services, err := store.Services(ctx, after, limit)
	if err != nil {
		return nil, fmt.Errorf("lease: services: %w", err)
	}
	return services, nil
}

// Incarnation returns what tells a service from those of all other stores, and from one
// that was here before and was removed or lost: a random text, made with its first
// lease. It is empty if the store does not have the service. Errors are those of List.
func (s *Server) Incarnation(ctx context.Context, serviceID string) (string, error) {
	service, config, err := s.options.resolveService(serviceID)
	if err != nil {
		return "", err
	}
	record, _, err := s.readRecord(ctx, service, config)
	if err != nil {
		return "", fmt.Errorf("lease: service %q: %w", service, err)
	}
	return record.Incarnation, nil
}

// List returns the leases of a service, a page at a time; each page is as of one
// moment. A block that cannot be read hides no other: then List returns the page of
// the others with an error that joins one for each such block, an [ErrCorrupt] or an
// [ErrNewer]; see [Page.UnreadBlocks]. After other errors, which are [ErrInvalid],
// [ErrUnknownService], those of the service's own records and those of the store, Page.Leases is nil.
func (s *Server) List(ctx context.Context, serviceID string, options ListOptions) (Page, error) {
	service, config, err := s.options.resolveService(serviceID)
	if err != nil {
		return Page{}, err
	}
	begin, limit, err := options.resolve()
	if err != nil {
		return Page{}, fmt.Errorf("lease: list of service %q: %w", service, err)
	}
	var page Page
	var damage error
	err = s.updateService(ctx, service, config, func(tx *serviceTx) error {
		page = Page{Leases: []Info{}}
		if _, err := tx.load(ctx); err != nil {
			return err
		}
		pairs, err := tx.store.Scan(ctx, blockKey(begin), []byte{keyBlock + 1}, maxPage)
		if err != nil {
			return err
		}
		damage = tx.listBlocks(&page, pairs, limit, options.Ended)
		return nil
	})
	if err != nil {
		return Page{}, fmt.Errorf("lease: list of service %q: %w", service, err)
	}
	if damage != nil {
		return page, fmt.Errorf("lease: list of service %q: %w", service, damage)
	}
	return page, nil
}
