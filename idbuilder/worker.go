// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
	"github.com/kazahana-db/kazahana/internal/idbuilder/snowflake"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
)

// Worker is the ID service: an http.Handler, and the same in Go. It is safe for
// concurrent use; any number of workers may share a store.
type Worker struct {
	options Options
	store   store.Store
	watch   *revision.Watch
	tokens  *token.Authority
	periods *periodStore
	pool    *sequence.Pool
	leases  *snowflake.Leaser
	keys    keys
	limits  limits
	usage   usage
	handler http.Handler
	admin   http.Handler
	console http.Handler // nil: there is none
	life    context.Context
	stop    context.CancelFunc // ends life
	tasks   sync.WaitGroup     // of life

	pings  sync.Mutex
	latest *storeProbe // guarded by pings; nil: none yet
}

// NewWorker returns a Worker on a store that was initialized, see
// [store.Store.Init]. Close it before the store.
func NewWorker(s store.Store, o Options) (*Worker, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	w := &Worker{options: o.withDefaults()}
	w.life, w.stop = context.WithCancel(context.Background())
	w.store = countingStore{s, &w.usage}
	w.limits.rate, w.limits.burst = w.options.Rate, w.options.Burst
	var err error
	if w.watch, err = revision.New(w.store, o.Revision); err != nil {
		w.stop()
		return nil, err
	}
	if w.tokens, err = token.New(w.store, w.watch, w.options.Tokens); err == nil {
		w.leases, err = snowflake.New(w.store, w.options.Snowflake)
	}
	if err == nil {
		w.periods = &periodStore{Store: w.store, log: w.options.Logger}
		w.pool, err = sequence.New(w.periods, o.Sequences)
	}
	if err == nil && o.Console != nil {
		w.console, err = o.Console(w)
	}
	if err != nil {
		w.stop()
		return nil, errors.Join(err, w.closeParts(context.Background()))
	}
	w.handler, w.admin = w.refuseUnclean(w.mainHandler()), w.refuseUnclean(w.adminHandler())
	w.tasks.Go(w.sweepIdleKeys)
	w.tasks.Go(func() { w.periods.removeRegularly(w.life) })
	return w, nil
}

// closeParts ends the goroutines of the parts.
func (w *Worker) closeParts(ctx context.Context) error {
	w.watch.Close()
	if w.pool == nil {
		return nil
	}
	return w.pool.Close(ctx)
}

// Tokens returns the authority that makes and checks the worker's tokens.
func (w *Worker) Tokens() *token.Authority { return w.tokens }

// ServeHTTP implements http.Handler.
func (w *Worker) ServeHTTP(rw http.ResponseWriter, r *http.Request) { w.handler.ServeHTTP(rw, r) }

// Admin returns the handler of the endpoints for admins, for an address of their own: see
// [Options.AdminApart].
func (w *Worker) Admin() http.Handler { return w.admin }

// Close ends the worker's goroutines. Requests that come later fail. The store stays open.
// Until ctx ends, Close gives the rest of each range back to the store, unless another
// worker has reserved since.
func (w *Worker) Close(ctx context.Context) error {
	w.stop()
	w.tasks.Wait()
	w.awaitProbe()
	w.keys.reads.closeReads()
	var err error
	if closer, ok := w.console.(io.Closer); ok {
		err = closer.Close()
	}
	return errors.Join(err, w.closeParts(ctx))
}

// sweepIdleKeys regularly forgets the keys and limits that are not used.
func (w *Worker) sweepIdleKeys() {
	tick := time.NewTicker(w.options.Idle / 4)
	defer tick.Stop()
	for {
		select {
		case <-w.life.Done():
			return
		case <-tick.C:
			w.keys.forgetIdle(time.Now().Add(-w.options.Idle))
			w.limits.forgetIdle()
		}
	}
}

// Format implements [fmt.Formatter]: a worker prints nothing of its own.
func (w *Worker) Format(f fmt.State, _ rune) { fmt.Fprint(f, "idbuilder.Worker") }

// LogValue implements [slog.LogValuer].
func (w *Worker) LogValue() slog.Value { return slog.StringValue("idbuilder.Worker") }
