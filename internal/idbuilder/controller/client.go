// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/redact"
	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/internal/uptime"
)

// Client is a worker's side: it registers the worker with a controller and sends
// heartbeats. It is safe for concurrent use.
type Client struct {
	options ClientOptions
	self    Registration
	clock   uptime.Clock
	wire    *wire

	mu       sync.Mutex
	held     *workerLease // nil: the worker is not registered
	failure  error        // of the last request; nil: it was answered
	sequence int64
}

// workerLease is the lease of the worker id.
type workerLease struct {
	Assignment
	until time.Duration // by the client's monotonic clock
}

// State is the state of a worker's registration.
type State struct {
	// Connected says that a controller answered the last request.
	Connected bool
	// Registered says that the lease of the worker id is in force. A worker that has
	// lost all controllers stays registered until it ends.
	Registered bool
	WorkerID   int64         // if it is registered
	Left       time.Duration // of the lease
	Err        error         // why it is not connected
	Note       string        // for people; empty if all is well
}

// NewClient returns a client, which does nothing until [Client.Run]. It returns
// what [ClientOptions.Validate] finds.
func NewClient(o ClientOptions) (*Client, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	return &Client{
		options: o, clock: uptime.New(), wire: newWire(o), failure: errStarting,
		self: Registration{Instance: rand.Text(), Address: o.Address, Version: o.Version, Started: time.Now().UTC()},
	}, nil
}

var errStarting = errors.New("controller: not asked yet")

// State returns the present state of the worker's registration.
func (c *Client) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := State{Connected: c.failure == nil, Err: c.failure}
	if c.held != nil {
		s.Left = c.held.until - c.now()
	}
	switch {
	case s.Left > 0:
		s.Registered, s.WorkerID = true, c.held.WorkerID
		if !s.Connected {
			s.Note = fmt.Sprintf("the controller does not answer; the lease of worker id %d lasts for %v", s.WorkerID, s.Left.Round(time.Second))
		}
	case c.held != nil:
		s.Left, s.Note = 0, fmt.Sprintf("the lease of worker id %d has ended, and the controller does not answer", c.held.WorkerID)
	default:
		s.Note = "the worker is not registered with a controller yet"
	}
	return s
}

func (c *Client) now() time.Duration { return c.clock.Elapsed(time.Now()) }

// Run registers the worker and sends heartbeats until ctx ends; then it ends the
// lease, and returns the cause of ctx. While no controller answers, it keeps asking all of them.
// Call it once.
func (c *Client) Run(ctx context.Context) error {
	for failures := 0; ; {
		next, err := c.sendHeartbeat(ctx)
		if ctx.Err() != nil {
			break
		}
		if err == nil {
			failures = 0
		} else {
			next = retryAfter(failures)
			failures++
		}
		if sleep.For(ctx, jitter(next)) != nil {
			break
		}
	}
	c.endLease(ctx)
	return context.Cause(ctx)
}

const (
	firstRetry = 250 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// retryAfter returns how long to wait after failures+1 failures in a row.
func retryAfter(failures int) time.Duration {
	return min(firstRetry<<min(failures, 10), lastRetry)
}

// jitter returns d, or up to a tenth less.
func jitter(d time.Duration) time.Duration { return d - mathrand.N(d/10+1) }

// sendHeartbeat registers or sends a heartbeat, and returns the time until the next one.
func (c *Client) sendHeartbeat(ctx context.Context) (next time.Duration, err error) {
	begun := c.now()
	assigned, err := c.registerOrRenew(ctx, begun)
	var refused *api.Error
	if errors.As(err, &refused) && refused.Code == api.NotFound {
		c.forgetLease()
		begun = c.now()
		assigned, err = c.registerOrRenew(ctx, begun)
	}
	if ctx.Err() != nil {
		return 0, err
	}
	c.keepAnswer(assigned, begun, err)
	if err != nil {
		return 0, err
	}
	return seconds(assigned.HeartbeatInterval), nil
}

// registerOrRenew sends a heartbeat, or, if no lease is in force, a registration.
func (c *Client) registerOrRenew(ctx context.Context, now time.Duration) (a Assignment, err error) {
	c.mu.Lock()
	lease := c.held
	c.sequence++
	sequence := c.sequence
	c.mu.Unlock()
	self := c.self
	self.Sequence, self.Load = sequence, c.options.Load()
	if lease == nil || lease.until <= now {
		err = c.wire.postJSON(ctx, RegisterPath, self, &a)
	} else {
		err = c.wire.postJSON(ctx, HeartbeatPath, Heartbeat{Registration: self, LeaseKey: lease.LeaseKey}, &a)
	}
	if err == nil {
		err = a.check()
	}
	return a, err
}

// forgetLease forgets the lease, because the controller does not know it.
func (c *Client) forgetLease() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = nil
}

// keepAnswer keeps the answer to a request that began at begun.
func (c *Client) keepAnswer(a Assignment, begun time.Duration, err error) {
	c.mu.Lock()
	lost, found := c.failure == nil && err != nil, c.failure != nil && err == nil
	c.failure = err
	if err == nil {
		c.held = &workerLease{Assignment: a, until: begun + seconds(a.LeaseDuration)}
	}
	c.mu.Unlock()
	switch {
	case lost:
		c.options.Logger.Warn("controller: no controller answers; the worker goes on for as long as its lease lasts", "error", err)
	case found:
		c.options.Logger.Info("controller: the worker is registered", "worker_id", a.WorkerID)
	}
}

// Workers asks a controller for the workers that live, for people to look at. The error is an
// [*api.Error], or says that no controller answers.
func (c *Client) Workers(ctx context.Context) (workers Workers, err error) {
	err = c.wire.send(ctx, http.MethodGet, WorkersPath, nil, &workers)
	return workers, err
}

// endLease ends the lease. ctx has ended.
func (c *Client) endLease(ctx context.Context) {
	c.mu.Lock()
	lease := c.held
	c.held = nil
	c.mu.Unlock()
	if lease == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.options.Timeout)
	defer cancel()
	var answer struct{}
	if err := c.wire.postJSON(ctx, LeavePath, Leave{Instance: c.self.Instance, LeaseKey: lease.LeaseKey}, &answer); err != nil {
		c.options.Logger.Warn("controller: the worker could not sign off; its lease ends by itself", "error", err)
	}
}

// seconds returns a time that a controller said.
func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second))
}

// ClientOptions configure a [Client].
type ClientOptions struct {
	// Endpoints are the base URLs of controllers, such as http://controller:8090.
	// The client stays with one as long as it answers.
	Endpoints []string
	// Token is the admin token.
	Token string
	// Address is the URL at which clients reach this worker.
	Address string
	Version string // of the program
	// Load returns the worker's load; nil: the worker is ready and reports no load. It must
	// not block.
	Load func() Load

	// Timeout bounds a request to one controller; 0 means 5 s.
	Timeout time.Duration
	// Transport makes the requests; nil means [http.DefaultTransport].
	Transport http.RoundTripper
	Logger    *slog.Logger // nil means [slog.Default]
}

// Validate reports everything that is wrong with the options.
func (o ClientOptions) Validate() error {
	var faults []error
	if len(o.Endpoints) == 0 {
		faults = append(faults, errors.New("controller: there is no endpoint"))
	}
	for _, e := range o.Endpoints {
		if u, err := url.Parse(e); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			faults = append(faults, fmt.Errorf("controller: the endpoint %q must be a URL such as http://controller:8090, without a user or query", redactURL(e)))
		}
	}
	if o.Token == "" || strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		faults = append(faults, errors.New("controller: the token is empty, or has characters other than printable ASCII"))
	}
	if err := (Registration{Instance: "x", Address: o.Address, Version: o.Version}).Validate(); err != nil {
		faults = append(faults, fmt.Errorf("controller: %w", err))
	}
	if o.Timeout < 0 {
		faults = append(faults, fmt.Errorf("controller: Timeout is %v; it must not be negative", o.Timeout))
	}
	return errors.Join(faults...)
}

func (o ClientOptions) withDefaults() ClientOptions {
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Load == nil {
		o.Load = func() Load { return Load{Ready: true} }
	}
	return o
}

// redactURL leaves out what may be a password.
func redactURL(text string) string {
	if u, err := url.Parse(text); err == nil {
		return u.Redacted()
	}
	return "[not a URL]"
}

// Format implements [fmt.Formatter]: options print without their token.
func (o ClientOptions) Format(f fmt.State, verb rune) {
	redact.Format(f, verb, o.withoutSecret())
}

// LogValue implements [slog.LogValuer]: options are logged without their token.
func (o ClientOptions) LogValue() slog.Value { return slog.AnyValue(o.withoutSecret()) }

// withoutSecret returns the options without secrets and functions, as a type without methods.
func (o ClientOptions) withoutSecret() any {
	type options = ClientOptions
	type ClientOptions options // the name that %#v prints
	o.Token = redact.Secret(o.Token)
	o.Load, o.Transport, o.Logger = nil, nil, nil
	return ClientOptions(o)
}

// Format implements [fmt.Formatter]: a client prints without its token and lease.
func (c *Client) Format(f fmt.State, verb rune) {
	redact.Format(f, verb, c.withoutSecret())
}

// LogValue implements [slog.LogValuer]: a client is logged without its token and lease.
func (c *Client) LogValue() slog.Value { return slog.AnyValue(c.withoutSecret()) }

// withoutSecret returns the client's options without secrets.
func (c *Client) withoutSecret() any { return c.options.withoutSecret() }
