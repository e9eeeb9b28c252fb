// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
)

// Worker is the ID service: an http.Handler, a prometheus.Collector, and the requests for IDs in Go.
// It is safe for concurrent use; any number of workers may share a store. Programs change
// configurations by requests, as the Admin of package client does.
type Worker struct{ w *worker.Worker }

// NewWorker returns a Worker on a store that was initialized, see
// [store.Store.Init]. Close it before the store.
func NewWorker(s store.Store, o Options) (*Worker, error) {
	w, err := worker.New(s, worker.Options(o), worker.Hooks{})
	if err != nil {
		return nil, err
	}
	return &Worker{w}, nil
}

// ServeHTTP implements http.Handler.
func (w *Worker) ServeHTTP(rw http.ResponseWriter, r *http.Request) { w.w.ServeHTTP(rw, r) }

// Admin returns the handler of the endpoints for admins, for an address of their own: see
// [Options.AdminApart].
func (w *Worker) Admin() http.Handler { return w.w.Admin() }

// Close ends the worker's goroutines. Requests that come later fail. The store stays open.
// Until ctx ends, Close gives the rest of each range back to the store, unless another
// worker has reserved since.
func (w *Worker) Close(ctx context.Context) error { return w.w.Close(ctx) }

// IncrementRequest asks for the next IDs of an increment key.
type IncrementRequest struct {
	Key  string
	Size int // 1 to 1000
	// Delta is the distance of two IDs; 0 means the configuration's. In a descending
	// sequence each ID is Delta less than the one before.
	Delta int64
	// RandDelta makes each distance random, from 1 to Delta; nil means as the
	// configuration says.
	RandDelta *bool
}

// Increment appends the next IDs of a key to dst. They increase strictly,
// or decrease if the key's step is negative; no worker gives one of them again.
// [Worker.Explain] tells what an error means.
func (w *Worker) Increment(ctx context.Context, dst []int64, r IncrementRequest) ([]int64, error) {
	return w.w.Increment(ctx, dst, worker.IncrementRequest(r))
}

// Formatted appends the next size IDs, 1 to 1000, of a formatted key to dst. [Worker.Explain] tells
// what an error means.
func (w *Worker) Formatted(ctx context.Context, dst []string, key string, size int) ([]string, error) {
	return w.w.Formatted(ctx, dst, key, size)
}

// Explain returns the answer that the API gives for an error of Increment or Formatted: the code, such
// as 3001 for a key that does not exist, and a message that names the parameter and what is allowed,
// and shows none of the store's internals.
func (w *Worker) Explain(err error) (code int, message string) {
	e := w.w.APIError(err)
	return int(e.Code), e.Message
}

// AdvanceOptions say how far [Worker.Advance] moves a key.
type AdvanceOptions struct {
	// Steps is how many steps the sequences of an increment or formatted key move ahead, at least 1.
	// Take more than all workers can have reserved since the newest write that the store still has.
	Steps int64
	// ClientsStopped says that all programs that make IDs of a snowflake key were stopped, so that its
	// worker ids can be leased at once.
	ClientsStopped bool
}

// Advance is what [Worker.Advance] did.
type Advance struct {
	Type string // of the key: increment, snowflake or formatted
	// Sequences has the number after which each sequence continues, by the name of the sequence. For a
	// formatted key that is its key, '#', the counter and the counter's period.
	Sequences map[string]int64
	// Exhausted are the sequences that have no number left that the key can give as it is configured now.
	Exhausted []string
	// Quarantined says that worker ids of a snowflake key are leased to no new client until all leases
	// have ended that the store may have lost: see [Options.LeaseHold].
	Quarantined bool
}

// Advance moves a key ahead, so that it gives no ID again that it gave after the newest write that the
// store still has. Call it for each key after a restored backup, or a failover that lost writes, while
// no worker runs: for keys of all kinds, and for deleted keys, too, since a key that is created again
// continues its sequence. Of a counter that begins anew it moves the periods that have begun and are not over, as far
// as the store knows, and those in which a clock may be that differs from [Options.Now] by an hour. If it is called
// again it moves the key again. After an error it may have moved
// some of the key's sequences. [Worker.Explain] tells what the error means.
func (w *Worker) Advance(ctx context.Context, key string, o AdvanceOptions) (*Advance, error) {
	done, err := w.w.Advance(ctx, key, worker.AdvanceOptions(o))
	return (*Advance)(done), err
}

// QuarantineWorkerIDs stops leases of worker ids of all snowflake keys until all leases have
// ended that the store may have lost. Call it when an operator has confirmed a
// loss, see [store.ErrLost]. It returns how many keys there are. What cannot be read is
// named in the error, after it has stopped the leases of all others.
func (w *Worker) QuarantineWorkerIDs(ctx context.Context) (keys int, err error) {
	return w.w.QuarantineWorkerIDs(ctx)
}

// Describe implements prometheus.Collector.
func (w *Worker) Describe(out chan<- *prometheus.Desc) { w.w.Describe(out) }

// Collect implements prometheus.Collector. Keys that were not used for [Options.Idle] are
// left out.
func (w *Worker) Collect(out chan<- prometheus.Metric) { w.w.Collect(out) }

// Format implements [fmt.Formatter]: a worker prints nothing of its own.
func (w *Worker) Format(f fmt.State, _ rune) { fmt.Fprint(f, "idbuilder.Worker") }

// LogValue implements [slog.LogValuer].
func (w *Worker) LogValue() slog.Value { return slog.StringValue("idbuilder.Worker") }

// Options configure a Worker. The zero value has the specification's defaults.
type Options struct {
	// AdminToken is an admin token that the operator chose, in addition to those that are
	// stored: 16 to 512 printable ASCII characters, of at least 8 kinds, without a space at an
	// end. Make it of random bits, such as `openssl rand -base64 32` does: what is stored of key
	// tokens lets a reader of the store try out guesses. Empty: there is none.
	AdminToken string
	// TokenExpiry is how long a key token is valid, rounded up to seconds: at least a second;
	// 0 means 30 days, negative: it does not expire.
	TokenExpiry time.Duration
	// TokenLookups bounds the lookups of unknown tokens in the store a second, so that guesses
	// do not load it. Tokens that the service made have a bound of their own, of the same size.
	// 0 means 1000.
	TokenLookups int

	// Validity is how long a worker uses a configuration or a token without asking the store
	// whether it was changed. All workers of a store need the same Validity: a change waits
	// that long. 10 ms to a minute; 0 means a second.
	Validity time.Duration
	// Margin is added to that wait, for clocks that run at different rates: up to a minute; 0
	// means a hundredth of Validity.
	Margin time.Duration
	// Outage is for how long a worker gives numbers from memory while the store does not
	// answer, counted from the end of Validity: up to a day; 0 means 5 minutes, negative: it
	// gives none.
	Outage time.Duration

	// BatchSize is how many steps of a sequence a worker reserves at first, and as long as the
	// sequence is little used; 0 means 1000. A crash loses what is left of them.
	BatchSize int64
	// MaxBatch is how many steps one reservation takes at most, unless a single request needs
	// more; 0 means 10,000,000, or BatchSize if that is more.
	MaxBatch int64
	// BatchDuration is how long a reservation should last at the rate at which the sequence was
	// used lately; 0 means 10 seconds.
	BatchDuration time.Duration
	// PrefetchThreshold is the share of a reservation, between 0 and 1, below which the worker
	// makes the next one in the background; 0 means 0.2.
	PrefetchThreshold float64
	// ReserveTimeout ends a reservation that the store does not answer. Its numbers are lost. 0
	// means 10 seconds.
	ReserveTimeout time.Duration
	// MinBackoff and MaxBackoff bound the pause between a reservation that failed and the next
	// of the same sequence, which doubles with each failure; 0 means 20 milliseconds and a second.
	MinBackoff, MaxBackoff time.Duration

	// LeaseDuration is the time within which a client with a worker id asks again; after it, the
	// client makes no IDs unless its lease was renewed. All workers of a store need the same
	// LeaseDuration, LeaseHold and LeaseSkew. A second to 12 hours; 0 means 10 minutes.
	LeaseDuration time.Duration
	// LeaseHold is how long a worker id is kept for a client that never asks again: at least
	// LeaseDuration and LeaseSkew together, at most 31 days; 0 means a day.
	LeaseHold time.Duration
	// LeaseSkew is how long a worker id stays unused after its lease has ended, for clients with
	// a late clock: up to an hour; 0 means a minute, negative: not at all.
	LeaseSkew time.Duration

	// Rate bounds the requests a second of each token, Burst how many may come at
	// once; 0: without bound, and Burst as large as Rate.
	Rate  float64
	Burst int
	// Timeout bounds the time of a request; 0 means 30 seconds. A change of a token or a
	// configuration takes Validity and Margin, so Timeout must be longer.
	Timeout time.Duration
	// MaxBody bounds the body of a request, in bytes; 0 means 64 KiB.
	MaxBody int64
	// CompressFrom is the smallest size in bytes of answers that are compressed for clients that
	// accept gzip; 0 means 1 KiB, negative: never.
	CompressFrom int
	// ReplyLifetime is for how long a request with an Idempotency-Key gets the same
	// answer; 0 means 10 minutes.
	ReplyLifetime time.Duration
	// Idle is the time after which a worker forgets a key that is not used. The numbers left of
	// its range return to the store, or are a gap if another worker has reserved since. 0 means
	// 10 minutes.
	Idle time.Duration

	// Backend is the name of the store in metrics, such as "postgresql".
	Backend string
	// AdminApart says that [Worker.Admin] alone serves /admin/, /v1/auth/ and /v1/config/,
	// for an address of their own.
	AdminApart bool

	Version string // of the program, in /health
	// Tracer makes spans; nil: there are none.
	Tracer trace.TracerProvider
	// Logger logs refused requests, failures of the store and jumps of the clock, and all
	// requests at the level debug; nil means slog.Default.
	Logger *slog.Logger
	// Now is the clock for dates in IDs and expiry; nil means time.Now. No ID is unique because
	// of it: worker ids are leased by the clocks of this machine.
	Now func() time.Time
	// Monotonic makes Now the clock of leases, too, and is the clock by which jumps of Now are
	// noticed: for tests. nil: leases do not depend on Now.
	Monotonic func() time.Duration
}

// Validate reports all that is wrong with the options.
func (o Options) Validate() error { return worker.Options(o).Validate() }

// Format implements [fmt.Formatter]: options print like any struct, except that
// the admin token and what cannot be printed are left out.
func (o Options) Format(f fmt.State, verb rune) { worker.Options(o).Format(f, verb) }

// LogValue implements [slog.LogValuer]: options are logged without the admin token.
func (o Options) LogValue() slog.Value { return worker.Options(o).LogValue() }
