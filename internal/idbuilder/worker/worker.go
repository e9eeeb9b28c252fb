// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
	"github.com/kazahana-db/kazahana/internal/idbuilder/snowflake"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
)

// Worker is the ID service: an http.Handler, and what the command and package idbuilder call.
// It is safe for concurrent use; any number of workers may share a store.
type Worker struct {
	options Options
	hooks   Hooks
	store   store.Store
	watch   *revision.Watch
	tokens  *token.Authority
	periods *periodStore
	pool    *sequence.Pool
	leases  *snowflake.Leaser
	keys    *keys
	probes  *probes
	limits  limits
	usage   usage
	handler http.Handler
	admin   http.Handler
	console http.Handler // nil: there is none
	life    context.Context
	stop    context.CancelFunc // ends life
	tasks   sync.WaitGroup     // of life
}

// New returns a Worker on a store that was initialized, see
// [store.Store.Init]. Close it before the store.
func New(s store.Store, o Options, h Hooks) (*Worker, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	w := &Worker{options: o.withDefaults(), hooks: h}
	w.life, w.stop = context.WithCancel(context.Background())
	w.store = w.usage.observe(s)
	w.probes = &probes{store: w.store, life: w.life, timeout: min(5*time.Second, w.options.Timeout), log: w.options.Logger}
	w.limits.rate, w.limits.burst = w.options.Rate, w.options.Burst
	var err error
	if w.watch, err = revision.New(w.store, w.options.revision()); err != nil {
		w.stop()
		return nil, err
	}
	if w.tokens, err = token.New(w.store, w.watch, w.options.tokens()); err == nil {
		w.leases, err = snowflake.New(w.store, w.options.leases())
	}
	if err == nil {
		w.periods = &periodStore{Store: w.store, log: w.options.Logger}
		w.pool, err = sequence.New(w.periods, w.options.sequences())
		w.keys = &keys{store: w.store, watch: w.watch, pool: w.pool, life: w.life, timeout: w.options.Timeout, log: w.options.Logger}
	}
	if err == nil && h.Console != nil {
		w.console, err = h.Console(w)
	}
	if err != nil {
		w.stop()
		return nil, errors.Join(err, w.closeParts(context.Background()))
	}
	w.handler, w.admin = mainHandler(w), adminHandler(w)
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
	w.probes.await()
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

// Ready reports whether the worker can make IDs: the store answers, or has done so in the last
// second, and, with [Hooks.ControllerRequired], the lease from the controller lasts.
func (w *Worker) Ready(ctx context.Context) api.Readiness {
	r := api.Readiness{Ready: true, Components: map[string]bool{}}
	note := func(component string, ready, required bool, text string) {
		r.Components[component] = ready
		r.Ready = r.Ready && (ready || !required)
		if text != "" {
			if r.Notes == nil {
				r.Notes = map[string]string{}
			}
			r.Notes[component] = text
		}
	}
	ctx, cancel := context.WithTimeout(ctx, w.probes.timeout)
	defer cancel()
	if err := w.probes.ask(ctx); err != nil {
		note("storage", false, true, w.APIError(err).Message)
	} else {
		note("storage", true, true, "")
	}
	if f := w.hooks.Controller; f != nil {
		s := f()
		note("controller", s.Registered, w.hooks.ControllerRequired, s.Note)
	}
	return r
}

// KeyLoad counts what this worker has done for a key since the key is in its memory.
type KeyLoad struct {
	Key       string
	Type      idconfig.Type
	Requests  uint64 // for IDs over HTTP, whatever their answer
	IDs       int64  // that were given
	Remaining uint64 // numbers that are reserved and not given; of a formatted key, those of its first counter
}

// Load counts what concerns no single key, since the worker began.
type Load struct {
	Waits       uint64            // requests for IDs that waited for the store
	StoreErrors map[string]uint64 // failed operations of the store, by operation
}

// KeyLoads ranges over the keys in the worker's memory, in no order: those that were
// used within [Options.Idle]. The counts of a key that was forgotten begin at 0 again.
func (w *Worker) KeyLoads() iter.Seq[KeyLoad] {
	return func(yield func(KeyLoad) bool) {
		w.keys.entries.Range(func(_, entry any) bool {
			e := entry.(*keyEntry)
			s := e.state.Load()
			return s == nil || yield(e.keyLoad(s))
		})
	}
}

// Load returns the worker's counts.
func (w *Worker) Load() Load {
	l := Load{Waits: uint64(w.pool.Metrics().Waits), StoreErrors: map[string]uint64{}}
	w.usage.errors.Range(func(operation, n any) bool {
		l.StoreErrors[operation.(string)] = n.(*count).Load()
		return true
	})
	return l
}

// APIError returns the answer that the API gives for an error of a method of the
// worker: its message names the parameter and what is allowed, and shows none of
// the store's internals.
func (w *Worker) APIError(err error) *api.Error {
	var e *api.Error
	var param *idconfig.ParamError
	var change *idconfig.ChangeError
	var layout *snowflake.ChangeError
	var full *snowflake.ExhaustedError
	var quarantine *snowflake.QuarantineError
	var short *sequence.ExhaustedError
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &param):
		code := api.Invalid
		if errors.Is(err, idconfig.ErrKey) {
			code = api.InvalidKey
		}
		return &api.Error{Code: code, Message: strings.ReplaceAll(err.Error(), "\n", "; ")}
	case errors.As(err, &full):
		return &api.Error{Code: api.Exhausted, Message: strings.TrimPrefix(err.Error(), "snowflake: "), RetryAfter: max(0, full.Free.Sub(w.options.Now())), Err: err}
	case errors.As(err, &quarantine):
		return &api.Error{
			Code: api.Unavailable, RetryAfter: max(0, quarantine.Until.Sub(w.options.Now())), Err: err,
			Message: "the store may have lost leases of worker ids; none is leased until they have ended, " + quarantine.Until.UTC().Format(time.RFC3339),
		}
	case errors.Is(err, snowflake.ErrLeaseKey):
		return api.Errorf(api.Invalid, "lease_key: it is not well-formed; send that of the last answer, or none")
	case errors.As(err, &layout):
		return &api.Error{Code: api.Invalid, Status: http.StatusConflict, Message: "base_ts: " + err.Error() + "; repeat the request with force=true to accept that IDs may come twice"}
	case errors.As(err, &change):
		return &api.Error{Code: api.Invalid, Status: http.StatusConflict, Message: err.Error()}
	case errors.Is(err, token.ErrInvalid), errors.Is(err, token.ErrExpired):
		return &api.Error{Code: api.Authentication, Message: "Authorization: the token is " + strings.TrimPrefix(err.Error(), "token: "), Err: err}
	case errors.Is(err, token.ErrBusy):
		return &api.Error{Code: api.Unavailable, Status: http.StatusTooManyRequests, Message: "too many unknown tokens are presented; ask again later", RetryAfter: time.Second, Err: err}
	case errors.As(err, &short) && short.Room > 0:
		return &api.Error{Code: api.Exhausted, Message: fmt.Sprintf("the sequence is exhausted: the last ID of a request may be at most %d further; ask for fewer", short.Room), Err: err}
	case errors.Is(err, store.ErrExhausted), errors.Is(err, format.ErrExhausted):
		return &api.Error{Code: api.Exhausted, Message: "the sequence is exhausted: no numbers are left for the request", Err: err}
	case errors.Is(err, store.ErrLost):
		return &api.Error{Code: api.Unavailable, Message: "the store may have lost data; no IDs are given until an operator confirms: idbuilder store confirm", Err: err}
	case errors.Is(err, store.ErrNewer):
		return &api.Error{Code: api.Unavailable, Message: "a newer version wrote what the store holds: ask another worker, and update this one", Err: err}
	case errors.Is(err, revision.ErrUnconfirmed):
		return &api.Error{Code: api.Unavailable, Message: "the change is stored, but other workers may not have seen it yet; repeat the request", RetryAfter: time.Second, Err: err}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &api.Error{Code: api.Unavailable, Message: storeLate, RetryAfter: time.Second, Err: err}
	}
	var corrupt *store.CorruptError
	if errors.As(err, &corrupt) {
		return &api.Error{Code: api.Internal, Message: "what the store holds is damaged: " + corrupt.Where, Err: err}
	}
	return &api.Error{Code: api.Unavailable, Message: storeDown, RetryAfter: time.Second, Err: err}
}

// Metrics of the specification, and idbuilder_up of the deployed worker.
var (
	requestsTotal    = prometheus.NewDesc("idbuilder_requests_total", "Requests for IDs of the keys that were used of late.", []string{"key", "id_type"}, nil)
	requestDuration  = prometheus.NewDesc("idbuilder_request_duration_seconds", "Latency of requests for IDs.", []string{"key", "id_type"}, nil)
	sequenceCurrent  = prometheus.NewDesc("idbuilder_sequence_current", "Last number that this worker gave, or reserved.", []string{"key"}, nil)
	cacheRemaining   = prometheus.NewDesc("idbuilder_cache_remaining", "Numbers that this worker has reserved and not given.", []string{"key"}, nil)
	storageErrors    = prometheus.NewDesc("idbuilder_storage_errors_total", "Failed operations of the store.", []string{"backend", "operation"}, nil)
	storageWaits     = prometheus.NewDesc("idbuilder_requests_that_waited_total", "Requests for IDs that waited for the store.", nil, nil)
	storageOutage    = prometheus.NewDesc("idbuilder_storage_outage_seconds", "Time since the last answer of the store went out of date; 0 while it answers.", nil, nil)
	fromMemory       = prometheus.NewDesc("idbuilder_requests_in_outage_total", "Requests for IDs that were answered from memory while the store did not answer.", nil, nil)
	up               = prometheus.NewDesc("idbuilder_up", "1 while the service answers.", nil, nil)
	controllerLinked = prometheus.NewDesc("idbuilder_controller_connected", "1 while the controller answers; absent without one.", nil, nil)
)

// Describe implements prometheus.Collector.
func (w *Worker) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{requestsTotal, requestDuration, sequenceCurrent, cacheRemaining, storageErrors, storageWaits, storageOutage, fromMemory, up, controllerLinked} {
		out <- d
	}
}

// Collect implements prometheus.Collector. Keys that were not used for [Options.Idle] are
// left out.
func (w *Worker) Collect(out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(up, prometheus.GaugeValue, 1)
	out <- prometheus.MustNewConstMetric(storageWaits, prometheus.CounterValue, float64(w.pool.Metrics().Waits))
	out <- prometheus.MustNewConstMetric(storageOutage, prometheus.GaugeValue, w.watch.Outage().Seconds())
	out <- prometheus.MustNewConstMetric(fromMemory, prometheus.CounterValue, float64(w.usage.fromMemory.Load()))
	if f := w.hooks.Controller; f != nil {
		connected := 0.0
		if f().Connected {
			connected = 1
		}
		out <- prometheus.MustNewConstMetric(controllerLinked, prometheus.GaugeValue, connected)
	}
	w.usage.errors.Range(func(operation, n any) bool {
		out <- prometheus.MustNewConstMetric(storageErrors, prometheus.CounterValue, float64(n.(*count).Load()), w.options.Backend, operation.(string))
		return true
	})
	w.keys.entries.Range(func(_, e any) bool {
		e.(*keyEntry).collect(out)
		return true
	})
}
