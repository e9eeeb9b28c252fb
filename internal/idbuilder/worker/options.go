// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kazahana-db/kazahana/internal/idbuilder/controller"
	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
	"github.com/kazahana-db/kazahana/internal/idbuilder/snowflake"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
	"github.com/kazahana-db/kazahana/internal/redact"
)

// Options configure a Worker: the fields are those of the Options of package idbuilder, which documents
// them, and converts its own.
type Options struct {
	AdminToken   string
	TokenExpiry  time.Duration
	TokenLookups int

	Validity time.Duration
	Margin   time.Duration
	Outage   time.Duration

	BatchSize              int64
	MaxBatch               int64
	BatchDuration          time.Duration
	PrefetchThreshold      float64
	ReserveTimeout         time.Duration
	MinBackoff, MaxBackoff time.Duration

	LeaseDuration time.Duration
	LeaseHold     time.Duration
	LeaseSkew     time.Duration

	Rate          float64
	Burst         int
	Timeout       time.Duration
	MaxBody       int64
	CompressFrom  int
	ReplyLifetime time.Duration
	Idle          time.Duration

	Backend    string
	AdminApart bool

	Version   string
	Tracer    trace.TracerProvider
	Logger    *slog.Logger
	Now       func() time.Time
	Monotonic func() time.Duration
}

// Hooks connect a worker with what the command runs with it. The zero value has none.
type Hooks struct {
	// Controller returns the state of the connection to the controller; nil: there
	// is none.
	Controller func() controller.State
	// ControllerRequired says that /ready fails while the worker has no lease from a controller.
	// No ID depends on one, so that workers that have lost all controllers stay ready otherwise.
	ControllerRequired bool
	// Console makes the handler of /admin/; nil: it is not served. If it is an io.Closer,
	// [Worker.Close] closes it.
	Console func(*Worker) (http.Handler, error)
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
	o.Monotonic, o.Now, o.Tracer, o.Logger = nil, nil, nil, nil
	return Options(o)
}
