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
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/refusal"
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
// [errors.ErrUnsupported] where that cannot tell.
func (s *Server) Services(ctx context.Context, after string, limit int) ([]string, error) {
	if limit == 0 {
		limit = maxPage
	}
	if limit < 0 || limit > maxPage {
		return nil, fmt.Errorf("%w: a limit of %d services; it must be from 0 to %d", ErrInvalid, limit, maxPage)
	}
	services, err := s.store.Services(ctx, after, limit)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Errorf("lease: the store cannot tell which services it knows: %w", err)
	}
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

// Info is a lease in a listing: without its secret.
type Info struct {
	ID           int64             `json:"id"`
	SequenceBits int               `json:"bitSeq"`
	Created      time.Time         `json:"created"`
	Expired      time.Time         `json:"expired"`
	Active       bool              `json:"active"`           // by the store's clock: it has not ended, nor was it released
	LastTs       *time.Time        `json:"lastTs,omitempty"` // of a lease that was released: the last millisecond used
	Meta         map[string]string `json:"meta,omitempty"`
}

// ListOptions choose what [Server.List] returns.
type ListOptions struct {
	// After continues a listing: [Page.Next] of the page before. Empty begins.
	After string
	// Limit is the number of leases of a page, from 1 to 1000; 0 means 1000.
	Limit int
	// Ended lists leases that have ended or were released, too, until their
	// positions are granted again.
	Ended bool
}

// Page is a part of a listing, in the order of the positions.
type Page struct {
	Leases []Info `json:"leases"` // not nil, so that it is [] in JSON if there are none
	// Next is the ListOptions.After of the next page, which may be empty; ""
	// if this is the last one.
	Next string `json:"next,omitempty"`
}

// UnreadBlocks returns the errors that a listing joins: one for each block that it has passed over,
// an [ErrCorrupt] or an [ErrNewer]. It returns nil if the listing has failed, or has read all blocks.
func (p Page) UnreadBlocks(err error) []error {
	if p.Leases == nil || err == nil {
		return nil
	}
	all := flatten(err)
	if slices.ContainsFunc(all, func(one error) bool { return !IsUnreadable(one) }) {
		return nil
	}
	return all
}

// IsUnreadable reports whether an error says of what is stored that it cannot be read: an [ErrCorrupt] or
// an [ErrNewer]. A listing of several services can go on with the next one.
func IsUnreadable(err error) bool { return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNewer) }

// flatten returns the errors that an error joins, or the error itself if it joins none. An error that
// wraps ErrCorrupt or ErrNewer and its cause is one error.
func flatten(err error) (all []error) {
	for e := err; e != nil; e = errors.Unwrap(e) {
		joined, ok := e.(interface{ Unwrap() []error })
		if !ok {
			continue
		}
		parts := joined.Unwrap()
		if slices.Contains(parts, ErrCorrupt) || slices.Contains(parts, ErrNewer) {
			return []error{e}
		}
		for _, one := range parts {
			all = append(all, flatten(one)...)
		}
		return all
	}
	return []error{err}
}

// maxPage is the number of blocks that a page looks at, at most.
const maxPage = 1000

// resolve returns the first position to list, and the limit.
func (o ListOptions) resolve() (base uint64, limit int, err error) {
	limit = o.Limit
	if limit == 0 {
		limit = maxPage
	}
	if limit < 0 || limit > maxPage {
		return 0, 0, fmt.Errorf("%w: a limit of %d leases; it must be from 0 to %d", ErrInvalid, o.Limit, maxPage)
	}
	if o.After == "" {
		return 0, limit, nil
	}
	var last uint32
	if n, err := fmt.Sscanf(o.After, "%08x", &last); n != 1 || err != nil || fmt.Sprintf("%08x", last) != o.After {
		return 0, 0, fmt.Errorf("%w: %q continues no listing", ErrInvalid, o.After)
	}
	return uint64(last) + 1, limit, nil
}

// newInfo returns the lease of a block that has a holder.
func newInfo(b *block, now int64) Info {
	h := b.Holder
	info := Info{
		ID: int64(b.base >> b.SequenceBits), SequenceBits: b.SequenceBits, Meta: h.Meta,
		Created: time.UnixMilli(h.Created).UTC(), Expired: time.UnixMilli(h.Expired).UTC(),
		Active: h.Released == nil && now < h.Expired,
	}
	if h.Released != nil {
		last := time.UnixMilli(*h.Released).UTC()
		info.LastTs = &last
	}
	return info
}

var (
	// ErrInvalid is wrapped by every error about a request that can never be
	// granted: a malformed service id, too much throughput, and the like.
	ErrInvalid = errors.New("lease: invalid request")

	// ErrUnknownService says that the server grants nothing for the service.
	ErrUnknownService = errors.New("lease: unknown service")

	// ErrExhausted says that the positions asked for are all leased. Nothing was
	// granted. Ask again once leases have ended or were released, or change the
	// layout of the service: more bits for ids, or shorter leases.
	ErrExhausted = refusal.ErrExhausted

	// ErrBudget says that a request exceeds what its account may have leased: the
	// MaxLeased of a token of lease/http. Nothing was granted. Ask again once
	// leases of the account have ended or were released, or for less.
	ErrBudget = refusal.ErrBudget

	// ErrNotFound says that there is no such lease, or that its positions have
	// been granted again since.
	ErrNotFound = errors.New("lease: no such lease")

	// ErrSignature says that a release does not carry the signature of the
	// lease's secret.
	ErrSignature = errors.New("lease: wrong signature")

	// ErrExpiredTimestamp says that a release was signed more than
	// [SignatureWindow] before or after the store's time.
	ErrExpiredTimestamp = errors.New("lease: signature too old or too new")

	// ErrLastTs says that a release names a last millisecond that lies outside
	// of the lease, or another one than the first release of the lease did.
	ErrLastTs = errors.New("lease: impossible last timestamp")

	// ErrQuarantine says that the store may have lost leases that are still in
	// use, so that nothing is granted until they have ended. The text names the end, by the
	// store's clock, and the remedy. See [Options.Fresh].
	ErrQuarantine = refusal.ErrQuarantine

	// ErrCorrupt says that a record in the store is not what this package wrote. The
	// error names the key. The record is left as it is, and nothing is granted over
	// it; others are.
	ErrCorrupt = refusal.ErrCorrupt

	// ErrNewer says that a newer version of this library wrote a record in the store. The record
	// is not damaged, and is left as it is: nothing is granted or changed with it. Blocks of
	// others are granted and listed. The error names the version to run. It is persistable.ErrNewer.
	ErrNewer = newer.Err
)
