// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder"
	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// Options configure a Console. The zero value is useful.
type Options struct {
	// Session is how long a login lasts; 0 means 8 hours.
	Session time.Duration
	// Timeout bounds the time of a request; 0 means 30 seconds.
	Timeout time.Duration
	// SampleEvery is how often usage is sampled for the charts; 0 means 5 seconds. They
	// show the last 180 samples.
	SampleEvery time.Duration
	// SecureCookie marks the session's cookie Secure even if requests come without TLS: set it
	// behind a proxy that ends TLS. With TLS, and for requests with which a proxy sends
	// X-Forwarded-Proto: https, the cookie is always Secure.
	SecureCookie bool
	// Workers lists the live workers, as the controller knows them; nil: there is
	// no controller.
	Workers func(context.Context) ([]WorkerInfo, error)
	// Address, Store and Version of this worker are shown on the first page; "": they are not.
	Address, Store, Version string

	Logger *slog.Logger     // nil means slog.Default
	Now    func() time.Time // nil means time.Now
}

// WorkerInfo is a live worker.
type WorkerInfo struct {
	ID        int64
	Name      string // of the instance
	Address   string // where it listens
	Version   string // of the program
	Started   time.Time
	Heartbeat time.Time // the last one
	Load      float64   // requests a second
}

// Validate reports all that is wrong with the options.
func (o Options) Validate() error {
	var faults []error
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"Session", o.Session}, {"Timeout", o.Timeout}, {"SampleEvery", o.SampleEvery}} {
		if d.value < 0 {
			faults = append(faults, fmt.Errorf("console: %s is %v, it cannot be negative", d.name, d.value))
		}
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		value     *time.Duration
		byDefault time.Duration
	}{{&o.Session, 8 * time.Hour}, {&o.Timeout, 30 * time.Second}, {&o.SampleEvery, 5 * time.Second}} {
		if *d.value == 0 {
			*d.value = d.byDefault
		}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Console is the http.Handler of /admin/. It is safe for concurrent use.
type Console struct {
	worker   *idbuilder.Worker
	options  Options
	sessions sessions
	throttle throttle
	samples  *samples
	handler  http.Handler
	cancel   context.CancelFunc
	ended    chan struct{}
	begun    time.Time
}

// New returns the console of a worker. Sessions are kept in the store. Close ends its goroutine; a
// worker whose options have the console closes it.
func New(w *idbuilder.Worker, s store.Store, o Options) (*Console, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	c := &Console{
		worker: w, options: o, begun: o.Now(), samples: newSamples(o.SampleEvery), ended: make(chan struct{}),
		sessions: sessions{store: s, lifetime: o.Session, now: o.Now},
	}
	c.handler = c.protect(c.newMux())
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go c.runSampling(ctx)
	return c, nil
}

// ServeHTTP implements http.Handler. It serves paths that begin with /admin/. All links
// are relative, so that a prefix may come before.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

// Close implements io.Closer: it ends the sampling of usage.
func (c *Console) Close() error {
	c.cancel()
	<-c.ended
	return nil
}

func (c *Console) runSampling(ctx context.Context) {
	defer close(c.ended)
	tick := time.NewTicker(c.options.SampleEvery)
	defer tick.Stop()
	for {
		c.samples.takeSample(c.worker.KeyLoads())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Age returns how long ago the last heartbeat was.
func (w WorkerInfo) Age(now time.Time) string { return duration(max(0, now.Sub(w.Heartbeat))) }
