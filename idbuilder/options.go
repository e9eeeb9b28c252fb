// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
	"github.com/kazahana-db/kazahana/internal/idbuilder/snowflake"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
	"github.com/kazahana-db/kazahana/internal/redact"
)

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
	// Controller returns the state of the connection to the controller; nil: there
	// is none.
	Controller func() ControllerState
	// ControllerRequired says that /ready fails while the worker has no lease from a controller.
	// No ID depends on one, so that workers that have lost all controllers stay ready otherwise.
	ControllerRequired bool
	// Console makes the handler of /admin/; nil: it is not served. If it is an io.Closer,
	// [Worker.Close] closes it. The command has its own.
	Console func(*Worker) (http.Handler, error)
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

// ControllerState is what /ready says of the controller.
type ControllerState struct {
	Connected bool   // the last heartbeat was answered
	Ready     bool   // the worker's lease lasts, so that it may go on
	Note      string // for people, such as "the controller is lost; the lease lasts until 12:00:03"
	WorkerID  int64
	Ping      func(ctx context.Context) error
}

// Validate reports all that is wrong with the options.
func (o Options) Validate() error {
	faults := []error{o.tokens().Validate(), o.revision().Validate(), o.sequences().Validate(), o.leases().Validate()}
	refuse := func(name string, value any) {
		faults = append(faults, fmt.Errorf("idbuilder: %s is %v, it cannot be negative", name, value))
	}
	if o.Rate < 0 {
		refuse("Rate", o.Rate)
	}
	if o.Burst < 0 {
		refuse("Burst", o.Burst)
	}
	if o.MaxBody < 0 {
		refuse("MaxBody", o.MaxBody)
	}
	for name, d := range map[string]time.Duration{"Timeout": o.Timeout, "ReplyLifetime": o.ReplyLifetime, "Idle": o.Idle} {
		if d < 0 {
			refuse(name, d)
		}
	}
	if wait, limit := o.revision().AnnounceTime(), o.withDefaults().Timeout; wait >= limit {
		faults = append(faults, fmt.Errorf("idbuilder: Timeout is %v, but a change of a token or configuration takes %v by Validity and Margin: raise Timeout, or lower them", limit, wait))
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	set(&o.Timeout, 30*time.Second)
	set(&o.MaxBody, 64<<10)
	set(&o.CompressFrom, 1<<10)
	set(&o.ReplyLifetime, 10*time.Minute)
	set(&o.Idle, 10*time.Minute)
	set(&o.Backend, "store")
	set(&o.Version, "unknown")
	set(&o.Burst, max(1, int(o.Rate)))
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func (o Options) tokens() token.Options {
	return token.Options{Admin: o.AdminToken, Expiry: o.TokenExpiry, Lookups: o.TokenLookups, Now: o.Now}
}

func (o Options) revision() revision.Options {
	return revision.Options{Validity: o.Validity, Margin: o.Margin, Outage: o.Outage}
}

func (o Options) sequences() sequence.Options {
	return sequence.Options{
		BatchSize: o.BatchSize, MaxBatch: o.MaxBatch, Target: o.BatchDuration, PrefetchThreshold: o.PrefetchThreshold,
		Timeout: o.ReserveTimeout, MinBackoff: o.MinBackoff, MaxBackoff: o.MaxBackoff, Idle: max(o.Idle, 0), Log: o.Logger,
	}
}

// leases returns the options of leases, which have their own clock unless Monotonic is set: with a
// clock of dates that is hours off, such as one of business days, clients could use no lease.
func (o Options) leases() snowflake.Options {
	leases := snowflake.Options{Duration: o.LeaseDuration, Hold: o.LeaseHold, Skew: o.LeaseSkew, Logger: o.Logger}
	if o.Monotonic != nil {
		leases.Now, leases.Monotonic = o.Now, o.Monotonic
	}
	return leases
}

// set sets a value that is zero to its default.
func set[T comparable](value *T, byDefault T) {
	var zero T
	if *value == zero {
		*value = byDefault
	}
}

// Format implements [fmt.Formatter]: options print like any struct, except that
// the admin token and what cannot be printed are left out.
func (o Options) Format(f fmt.State, verb rune) {
	redact.Format(f, verb, o.withoutSecret())
}

// LogValue implements [slog.LogValuer]: options are logged without the admin token.
func (o Options) LogValue() slog.Value { return slog.AnyValue(o.withoutSecret()) }

// withoutSecret returns the options without secrets, as a type without methods.
func (o Options) withoutSecret() any {
	type options = Options
	type Options options // the name that %#v prints
	o.AdminToken = redact.Secret(o.AdminToken)
	o.Controller, o.Console, o.Monotonic, o.Now, o.Tracer, o.Logger = nil, nil, nil, nil, nil, nil
	return Options(o)
}
