// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// Client gets IDs from the service. Make one for each token, and keep it.
type Client struct {
	options Options
	urls    []string     // without a slash at the end
	url     atomic.Int64 // index of the one that answered last
	http    *http.Client
	own     *http.Transport // nil: the caller's
	count   counters

	context context.Context // ends when the client is closed
	cancel  context.CancelFunc
	running sync.WaitGroup // goroutines that fetch

	mu         sync.Mutex
	closed     bool
	increments map[string]*Increment
	formatteds map[string]*FormattedKey
	snowflakes map[string]*Snowflake
}

// New returns a Client. It sends nothing; the first call for an ID does. It
// returns what [Options.Validate] finds.
func New(o Options) (*Client, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c := &Client{options: o.withDefaults(), http: o.HTTPClient, increments: map[string]*Increment{}, formatteds: map[string]*FormattedKey{}, snowflakes: map[string]*Snowflake{}}
	for _, url := range o.URLs {
		c.urls = append(c.urls, strings.TrimRight(url, "/"))
	}
	if c.http == nil {
		c.own = http.DefaultTransport.(*http.Transport).Clone()
		c.own.MaxIdleConnsPerHost = 16
		c.http = &http.Client{Transport: c.own}
	}
	c.http = keepingOrigin(c.http)
	c.context, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// Increment returns the handle of an increment key, the same one at each call.
func (c *Client) Increment(key string) *Increment {
	return handle(c, c.increments, key, newIncrement)
}

// Formatted returns the handle of a formatted key, the same one at each call.
func (c *Client) Formatted(key string) *FormattedKey {
	return handle(c, c.formatteds, key, newFormatted)
}

// Snowflake returns the handle of a snowflake key, the same one at each call. It leases
// a worker id at its first ID and keeps it until the client is closed.
func (c *Client) Snowflake(key string) *Snowflake {
	return handle(c, c.snowflakes, key, newSnowflake)
}

// closer is a handle. After close it gives no more IDs.
type closer interface{ close() }

func handle[H closer](c *Client, handles map[string]H, key string, make func(*Client, string) H) H {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := handles[key]
	if !ok {
		h = make(c, key)
		handles[key] = h
		if c.closed {
			h.close()
		}
	}
	return h
}

// Close ends all requests of handles, and waits until their goroutines have ended. Handles then
// return [ErrClosed]; the IDs that they had fetched are a gap. It releases the worker ids of
// snowflake keys, for which it waits for [Options.Timeout] at most; one that it cannot release
// is free when its lease has ended.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	closeAll(c.increments)
	closeAll(c.formatteds)
	closeAll(c.snowflakes)
	c.mu.Unlock()
	c.cancel()
	c.running.Wait()
	c.releaseLeases()
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// releaseLeases releases the leases of all handles, which are closed.
func (c *Client) releaseLeases() {
	ctx, cancel := context.WithTimeout(context.Background(), c.options.Timeout)
	defer cancel()
	var releases sync.WaitGroup
	c.mu.Lock()
	for _, h := range c.snowflakes {
		releases.Go(func() { h.release(ctx) })
	}
	c.mu.Unlock()
	releases.Wait()
}

func closeAll[H closer](handles map[string]H) {
	for _, h := range handles {
		h.close()
	}
}

// Admin returns the requests of administrators.
func (c *Client) Admin() Admin { return Admin{c} }

// Metrics returns the counts since the client was made.
func (c *Client) Metrics() Metrics {
	n := &c.count
	return Metrics{
		Requests: n.requests.Load(), Failures: n.failures.Load(), Failovers: n.failovers.Load(), Fetched: n.fetched.Load(),
		Discarded: n.discarded.Load(), Waits: n.waits.Load(), Leases: n.leases.Load(),
	}
}

// String names the URLs.
func (c *Client) String() string { return "client.Client(" + strings.Join(c.urls, " ") + ")" }

// Format implements [fmt.Formatter]: a client prints its URLs, never its token.
func (c *Client) Format(f fmt.State, _ rune) { fmt.Fprint(f, c.String()) }

// LogValue implements [slog.LogValuer].
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Metrics are what a [Client] has counted since it was made.
type Metrics struct {
	Requests  int64 // tries that were sent
	Failures  int64 // tries that failed, or were refused
	Failovers int64 // changes to another URL
	Fetched   int64 // IDs that were fetched
	Discarded int64 // of those, left out because they came before those given already
	Waits     int64 // calls for an ID that had to wait for the service
	Leases    int64 // leases of worker ids, with renewals
}

type counters struct{ requests, failures, failovers, fetched, discarded, waits, leases atomic.Int64 }
