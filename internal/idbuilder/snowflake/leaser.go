// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/redact"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/lease"
)

// Key is a snowflake key with its configuration.
type Key struct {
	Name   string
	Layout Layout
	// Version tells changes of the configuration apart: a later layout has a
	// greater one. The version of the configuration's document is one.
	Version int64
}

// Client describes the client that asks.
type Client struct {
	// LeaseKey is that of the last answer; empty in the first request.
	LeaseKey string
	// Renews says, in the first request, that the client asks again within [Grant.Duration]. A
	// client without it is treated as one that never asks again, until it does.
	Renews bool
	// Address is shown to operators; at most 256 bytes are kept.
	Address string
}

// Grant is a leased worker id.
type Grant struct {
	WorkerID int64
	LeaseKey string // to be sent with the next request; a secret
	// The client makes IDs with timestamps in [NotBefore, Expires), to the
	// millisecond, by its own clock. NotBefore is not after the worker's time.
	NotBefore, Expires time.Time
	Duration           time.Duration // within which the client asks again
	Renewed            bool          // the worker id is the one that the client has
}

// Leaser leases worker ids. It is safe for concurrent use, and any number of them
// may share a store.
type Leaser struct {
	documents *documents
	options   Options
	// Servers by the bits of their shards. They are made with the Leaser, since they notice
	// jumps of the clock after that.
	short, long [shardBits + 1]*lease.Server

	mu     sync.Mutex
	spaces map[string]*space // by key
}

// New returns a Leaser of the worker ids in an initialised store. It
// returns what [Options.Validate] finds.
func New(s store.Store, o Options) (*Leaser, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	l := &Leaser{documents: &documents{store: s, now: o.Now}, options: o, spaces: map[string]*space{}}
	l.documents.admit = l.admitDocument
	for bits := 1; bits <= shardBits; bits++ {
		var err error
		if l.long[bits], err = l.server(bits); err != nil {
			return nil, err
		}
		if l.short[bits], err = l.long[bits].WithDuration(o.renewalTime()); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// server returns a server of shards.
func (l *Leaser) server(bits int) (*lease.Server, error) {
	return lease.NewServer(l.documents, lease.Options{
		Default: lease.ServiceConfig{Layout: shardLayout(bits), Duration: l.options.Hold, Plain: true}, MaxServices: 1 << 30, Fresh: true,
		Monotonic: l.options.Monotonic, Logger: l.options.Logger,
	})
}

// Lease renews the lease that the client names, or, if there is none that can be
// renewed, grants a worker id. Errors: [*ExhaustedError], [*ChangeError],
// [ErrStale], [ErrLeaseKey], what [Layout.Validate] finds, [lease.ErrQuarantine] after a loss
// of the store, and those of the store; after the latter the outcome may be unknown, and
// the client asks again with the lease key that it has.
func (l *Leaser) Lease(ctx context.Context, key Key, client Client) (Grant, error) {
	held, err := client.namedLease()
	if err != nil {
		return Grant{}, err
	}
	for n := 0; ; n++ {
		s, err := l.openSpace(ctx, key, false)
		if err == nil {
			err = s.checkTime(l.options.Now())
		}
		if err != nil {
			return Grant{}, err
		}
		g, err := l.leaseWorkerID(ctx, s, held, client)
		if !errors.Is(err, errClosed) || n == lookups {
			return g, err
		}
		l.forgetSpace(s) // the layout was replaced since it was read
	}
}

// lookups bounds how often a call reads the layouts of its key again.
const lookups = 3

// namedLease returns the lease that the client names; nil if it names none.
func (c Client) namedLease() (*leaseKey, error) {
	if c.LeaseKey == "" {
		return nil, nil
	}
	k, err := parseLeaseKey(c.LeaseKey)
	return &k, err
}

// Renew renews the lease of a lease key, and grants no other one:
// [lease.ErrNotRenewable] or [lease.ErrNotFound] say that it has ended, was released or is
// unknown. Further errors are those of [Leaser.Lease].
func (l *Leaser) Renew(ctx context.Context, key Key, text string) (Grant, error) {
	k, err := parseLeaseKey(text)
	if err != nil {
		return Grant{}, err
	}
	s, err := l.openSpace(ctx, key, false)
	if err != nil {
		return Grant{}, err
	}
	if !s.hasWorker(k.worker) {
		return Grant{}, fmt.Errorf("%w: key %q has no worker id %d", lease.ErrNotFound, key.Name, k.worker)
	}
	g, err := l.renew(ctx, s, &k)
	if errors.Is(err, lease.ErrSignature) { // so that the error says nothing about the lease
		err = fmt.Errorf("%w: key %q, worker id %d", lease.ErrNotFound, key.Name, k.worker)
	}
	return g, err
}

func (l *Leaser) leaseWorkerID(ctx context.Context, s *space, held *leaseKey, client Client) (Grant, error) {
	if held != nil && s.hasWorker(held.worker) {
		g, err := l.renew(ctx, s, held)
		if !unrenewable(err) {
			return g, err
		}
	}
	server, keep := l.long[s.layout.shardWidth()], l.options.Hold
	if held != nil || client.Renews {
		server, keep = l.short[s.layout.shardWidth()], l.options.renewalTime()
	}
	granted, shard, err := s.acquireAny(ctx, server, client.meta())
	if err != nil {
		return Grant{}, err
	}
	granted.Expired -= (keep - l.options.Duration).Milliseconds()
	return s.grantOf(granted, shard, l.options.Duration), nil
}

// renew renews a lease.
func (l *Leaser) renew(ctx context.Context, s *space, k *leaseKey) (Grant, error) {
	shard := s.shardOf(k.worker)
	renewed, err := l.short[s.layout.shardWidth()].Renew(ctx, s.serviceOf(shard), idgen.Lease{
		ID: k.worker & (1<<s.layout.shardWidth() - 1), SequenceBits: spaceBitSeq, Created: k.created, Secret: k.secret,
	}, l.options.renewalTime())
	if err != nil {
		return Grant{}, err
	}
	renewed.Expired -= l.options.Skew.Milliseconds()
	g := s.grantOf(renewed, shard, l.options.Duration)
	g.Renewed = true
	return g, nil
}

// unrenewable reports whether the client needs another worker id.
func unrenewable(err error) bool {
	return errors.Is(err, lease.ErrNotRenewable) || errors.Is(err, lease.ErrNotFound) || errors.Is(err, lease.ErrSignature)
}

// meta returns the description of the client in its lease, for operators.
func (c Client) meta() map[string]string {
	if c.Address == "" {
		return nil
	}
	return map[string]string{"address": c.Address[:min(len(c.Address), 256)]}
}

// Release ends a lease when its client makes no more IDs. The worker id is free after the skew,
// for clients with late clocks. Release returns nil for a lease that has ended or was released
// before. Errors: [ErrLeaseKey], and those of the store.
func (l *Leaser) Release(ctx context.Context, key Key, text string) error {
	k, err := parseLeaseKey(text)
	if err != nil {
		return err
	}
	s, err := l.openSpace(ctx, key, false)
	if err != nil || !s.hasWorker(k.worker) {
		return err
	}
	now := l.options.Now()
	last := max(now.Add(l.options.Skew).UnixMilli(), k.created-1)
	held := idgen.Lease{ID: k.worker & (1<<s.layout.shardWidth() - 1), SequenceBits: spaceBitSeq, Created: k.created, Secret: k.secret}
	service := s.serviceOf(s.shardOf(k.worker))
	err = l.short[s.layout.shardWidth()].Release(ctx, held.Release(service, last, now))
	if unrenewable(err) || errors.Is(err, lease.ErrLastTs) {
		return nil // it has less than the skew left, or has ended, or was released before
	}
	return err
}

// Format implements [fmt.Formatter]: a grant prints without its lease key.
func (g Grant) Format(f fmt.State, verb rune) { redact.Format(f, verb, g.withoutSecret()) }

// LogValue implements [slog.LogValuer]: a grant is logged without its lease key.
func (g Grant) LogValue() slog.Value { return slog.AnyValue(g.withoutSecret()) }

// withoutSecret returns the grant without its lease key, as a type without methods.
func (g Grant) withoutSecret() any {
	type grant = Grant
	type Grant grant // the name that %#v prints
	g.LeaseKey = redact.Secret(g.LeaseKey)
	return Grant(g)
}

// Format implements [fmt.Formatter]: a client prints without its lease key.
func (c Client) Format(f fmt.State, verb rune) {
	redact.Format(f, verb, c.withoutSecret())
}

// LogValue implements [slog.LogValuer]: a client is logged without its lease key.
func (c Client) LogValue() slog.Value { return slog.AnyValue(c.withoutSecret()) }

// withoutSecret returns the client without its lease key, as a type without methods.
func (c Client) withoutSecret() any {
	type client = Client
	type Client client // the name that %#v prints
	c.LeaseKey = redact.Secret(c.LeaseKey)
	return Client(c)
}

// The defaults of [Options].
const (
	DefaultDuration = 10 * time.Minute
	DefaultHold     = 24 * time.Hour
	DefaultSkew     = time.Minute
)

// Options configure a [Leaser]. All workers of a store use the same.
type Options struct {
	// Duration is the time within which a client asks again; after it, the client makes no IDs
	// unless its lease was renewed. From a second to 12 hours; 0 means 10 minutes.
	Duration time.Duration
	// Hold is how long a worker id is kept for a client that never asks again.
	// It is at least Duration and Skew together, at most 31 days; 0 means a day.
	Hold time.Duration
	// Skew is how long a worker id stays unused after a client's lease of it has
	// ended: for clients with a late clock. From 0 to an hour; 0 means a
	// minute, a negative value none.
	Skew time.Duration

	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Monotonic is the clock by which jumps of Now are noticed; nil means that of this
	// process. Set it if Now is set.
	Monotonic func() time.Duration
	// Logger gets warnings about clocks; nil means [slog.Default].
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Duration == 0 {
		o.Duration = DefaultDuration
	}
	if o.Hold == 0 {
		o.Hold = DefaultHold
	}
	switch {
	case o.Skew == 0:
		o.Skew = DefaultSkew
	case o.Skew < 0:
		o.Skew = 0
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// Validate reports everything that is wrong with the options, by their names in the options of
// a worker.
func (o Options) Validate() error {
	o = o.withDefaults()
	var faults []error
	if o.Duration < time.Second || o.Duration > 12*time.Hour || o.Duration%time.Millisecond != 0 {
		faults = append(faults, fmt.Errorf("idbuilder: LeaseDuration is %v; it must be from 1s to 12h in whole milliseconds", o.Duration))
	}
	if o.Skew > time.Hour || o.Skew%time.Millisecond != 0 {
		faults = append(faults, fmt.Errorf("idbuilder: LeaseSkew is %v; it must be at most 1h in whole milliseconds", o.Skew))
	}
	if o.Hold < o.renewalTime() || o.Hold > 31*24*time.Hour || o.Hold%time.Millisecond != 0 {
		faults = append(faults, fmt.Errorf("idbuilder: LeaseHold is %v; it must be from LeaseDuration and LeaseSkew together, %v, to 31 days in whole milliseconds", o.Hold, o.renewalTime()))
	}
	return errors.Join(faults...)
}

// renewalTime is how long a worker id is kept for a client that asks again.
func (o Options) renewalTime() time.Duration { return o.Duration + o.Skew }

var (
	// ErrExhausted is wrapped by an [*ExhaustedError].
	ErrExhausted = errors.New("snowflake: exhausted")
	// ErrLeaseKey says that a text is not a lease key of this package.
	ErrLeaseKey = errors.New("snowflake: malformed lease key; send the lease_key of the last answer, or none")
	// ErrStale says that another layout of the key is in force, of a later version.
	ErrStale = errors.New("snowflake: the layout of the key has been changed")
)

// ExhaustedError says that no worker id can be leased.
type ExhaustedError struct {
	Key string
	// Workers is how many worker ids the key has; all are leased.
	// 0: the bits of the timestamp are used up.
	Workers int
	// Free is when the first worker id becomes free if its client does not renew it; zero: never.
	Free time.Time
}

// Error names the key, what it lacks, and the remedy.
func (e *ExhaustedError) Error() string {
	if e.Workers == 0 {
		return fmt.Sprintf("%v: the timestamp of key %q has no further value; use another key, with a later base_ts or a larger ts_size", ErrExhausted, e.Key)
	}
	return fmt.Sprintf("%v: all %d worker ids of key %q are leased; the first may become free at %s; clients that renew and release their leases hold fewer",
		ErrExhausted, e.Workers, e.Key, e.Free.UTC().Format(time.RFC3339))
}

// Unwrap returns [ErrExhausted].
func (e *ExhaustedError) Unwrap() error { return ErrExhausted }

// ChangeError says that IDs of a layout could equal IDs that are, or were, made
// with the layout before.
type ChangeError struct {
	Key   string
	Until time.Time // at that time and later they cannot; zero: they could for ever
}

// Error names the key and the time.
func (e *ChangeError) Error() string {
	if e.Until.IsZero() {
		return fmt.Sprintf("snowflake: IDs of the new layout of key %q would repeat IDs of the old one for as long as its timestamp lasts; use another key", e.Key)
	}
	return fmt.Sprintf("snowflake: IDs of the new layout of key %q could repeat IDs of the old one until %s", e.Key, e.Until.UTC().Format(time.RFC3339))
}

// QuarantineError says that the store may have lost leases, and when one can be
// granted: see [Leaser.Quarantine].
type QuarantineError = refusal.QuarantineError
