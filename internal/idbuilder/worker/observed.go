// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// usage has the counts that concern no single key.
type usage struct {
	errors     sync.Map // of *count, by operation
	fromMemory count    // answers in an outage of the store
}

type count = atomic.Uint64

// countingStore is a store that counts its failures.
type countingStore struct {
	store.Store
	usage *usage
}

// countFailure counts an error unless it is one of a store's normal answers.
func (o countingStore) countFailure(operation string, err error) {
	if err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrExhausted) ||
		errors.Is(err, context.Canceled) {
		return
	}
	n, _ := o.usage.errors.LoadOrStore(operation, new(count))
	n.(*count).Add(1)
}

func (o countingStore) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	answer, err := o.Store.Reserve(ctx, name, r)
	o.countFailure("reserve", err)
	return answer, err
}

func (o countingStore) Sequence(ctx context.Context, name string) (store.Sequence, error) {
	answer, err := o.Store.Sequence(ctx, name)
	o.countFailure("sequence", err)
	return answer, err
}

func (o countingStore) SetSequence(ctx context.Context, name string, value, version int64) error {
	err := o.Store.SetSequence(ctx, name, value, version)
	o.countFailure("set_sequence", err)
	return err
}

func (o countingStore) DeleteSequence(ctx context.Context, name string) (bool, error) {
	found, err := o.Store.DeleteSequence(ctx, name)
	o.countFailure("delete_sequence", err)
	return found, err
}

func (o countingStore) Get(ctx context.Context, kind store.Kind, key string) (store.Document, error) {
	answer, err := o.Store.Get(ctx, kind, key)
	o.countFailure("get", err)
	return answer, err
}

func (o countingStore) Put(ctx context.Context, kind store.Kind, d store.Document) (int64, error) {
	answer, err := o.Store.Put(ctx, kind, d)
	o.countFailure("put", err)
	return answer, err
}

func (o countingStore) Delete(ctx context.Context, kind store.Kind, key string, version int64) error {
	err := o.Store.Delete(ctx, kind, key, version)
	o.countFailure("delete", err)
	return err
}

func (o countingStore) List(ctx context.Context, kind store.Kind, options store.ListOptions) ([]store.Document, error) {
	answer, err := o.Store.List(ctx, kind, options)
	o.countFailure("list", err)
	return answer, err
}

func (o countingStore) Revision(ctx context.Context) (int64, error) {
	answer, err := o.Store.Revision(ctx)
	o.countFailure("revision", err)
	return answer, err
}

func (o countingStore) Advance(ctx context.Context) (int64, error) {
	answer, err := o.Store.Advance(ctx)
	o.countFailure("advance", err)
	return answer, err
}

func (o countingStore) Ping(ctx context.Context) error {
	err := o.Store.Ping(ctx)
	o.countFailure("ping", err)
	return err
}

// probes ask the store whether it answers.
type probes struct {
	store   store.Store
	life    context.Context // of the worker
	timeout time.Duration
	log     *slog.Logger

	mu     sync.Mutex
	latest *probe // nil: none yet
}

// pingLife is how long the answer of the store to a ping counts.
const pingLife = time.Second

// probe is a question to the store, a durable write for most stores. Requests at the same time,
// or a little later, share the answer: GET /ready needs no token.
type probe struct {
	done chan struct{} // closed when err and at are set
	err  error
	at   time.Time
}

// isOld reports whether the answer does not count any more.
func (p *probe) isOld() bool {
	select {
	case <-p.done:
		return time.Since(p.at) >= pingLife
	default:
		return false
	}
}

// ask asks the store, or shares an answer.
func (p *probes) ask(ctx context.Context) error {
	latest := p.current()
	select {
	case <-latest.done:
		return latest.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// current returns the ping that runs, or the last one while its answer counts, or begins one.
// After the worker was closed it begins none: the store may be closed, too.
func (p *probes) current() *probe {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latest == nil || p.latest.isOld() {
		p.latest = &probe{done: make(chan struct{})}
		if p.latest.err = p.life.Err(); p.latest.err != nil {
			close(p.latest.done)
		} else {
			go p.run(p.latest)
		}
	}
	return p.latest
}

// await waits for the ping that runs. The worker's life has ended, which ends the ping.
func (p *probes) await() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latest != nil {
		<-p.latest.done
	}
}

func (p *probes) run(q *probe) {
	ctx, cancel := context.WithTimeout(p.life, p.timeout)
	defer cancel()
	defer close(q.done)
	q.err = p.store.Ping(ctx)
	q.at = time.Now()
	if q.err != nil && p.life.Err() == nil {
		p.log.Warn("idbuilder: the store does not answer", "error", q.err)
	}
}
