// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/intercept"
)

// usage has the counts that concern no single key.
type usage struct {
	errors     sync.Map // of *count, by operation
	fromMemory count    // answers in an outage of the store
}

type count = atomic.Uint64

// observe returns a store that counts its failures, but for its normal answers.
func (u *usage) observe(s store.Store) store.Store {
	return intercept.Store{Store: s, Around: func(_ context.Context, c intercept.Call, call func() error) error {
		err := call()
		if err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrExhausted) ||
			errors.Is(err, context.Canceled) {
			return err
		}
		operation := strings.ReplaceAll(strings.ToLower(c.Method), "sequence", "_sequence")
		n, _ := u.errors.LoadOrStore(strings.TrimPrefix(operation, "_"), new(count))
		n.(*count).Add(1)
		return err
	}}
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
