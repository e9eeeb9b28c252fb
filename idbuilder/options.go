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
	Tokens    token.Options
	Revision  revision.Options
	Sequences sequence.Options
	Snowflake snowflake.Options

	// Rate bounds the requests a second of each token, Burst how many may come at
	// once; 0: without bound, and Burst as large as Rate.
	Rate  float64
	Burst int
	// Timeout bounds the time of a request; 0 means 30 seconds. A change of a token or a
	// configuration takes Revision.Validity and Revision.Margin, so Timeout must be longer.
	Timeout time.Duration
	// MaxBody bounds the body of a request, in bytes; 0 means 64 KiB.
	MaxBody int64
	// CompressFrom is the smallest size in bytes of answers that are compressed for clients that
	// accept gzip; 0 means 1 KiB, negative: never.
	CompressFrom int
	// ReplyLifetime is for how long a request with an Idempotency-Key gets the same
	// answer; 0 means 10 minutes.
	ReplyLifetime time.Duration
	// Idle is the time after which a worker forgets a key that is not used; the numbers
	// left of its range are a gap. 0 means 10 minutes.
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
	// [Worker.Close] closes it. See package console.
	Console func(*Worker) (http.Handler, error)
	// AdminApart says that [Worker.Admin] alone serves /admin/, /v1/auth/ and /v1/config/,
	// for an address of their own.
	AdminApart bool

	Version string // of the program, in /health
	// Tracer makes spans; nil: there are none.
	Tracer trace.TracerProvider
	// Logger logs refused requests, and all requests at the level debug; nil means slog.Default.
	Logger *slog.Logger
	Now    func() time.Time // nil means time.Now; for dates in IDs and expiry, never for uniqueness
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
	faults := []error{o.Tokens.Validate(), o.Revision.Validate(), o.Sequences.Validate(), o.Snowflake.Validate()}
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
	if wait, limit := o.Revision.AnnounceTime(), o.withDefaults().Timeout; wait >= limit {
		faults = append(faults, fmt.Errorf("idbuilder: Timeout is %v, but a change of a token or configuration takes %v by Revision.Validity and Revision.Margin: raise Timeout, or lower them", limit, wait))
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
	if o.Tokens.Now == nil {
		o.Tokens.Now = o.Now
	}
	if o.Snowflake.Logger == nil {
		o.Snowflake.Logger = o.Logger
	}
	return o
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
	o.Tokens.Admin = redact.Secret(o.Tokens.Admin)
	o.Tokens.Now, o.Controller, o.Console, o.Now, o.Tracer, o.Logger = nil, nil, nil, nil, nil, nil
	return Options(o)
}
