// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/internal/access"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/sleep"
)

// Client gets IDs from the service. Make one for each token, and keep it.
type Client struct {
	options Options      // without the token
	token   *Token       // what prints the client prints its address
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
	increments map[string]*Sequence[int64]
	formatteds map[string]*Sequence[string]
	snowflakes map[string]*Snowflake
}

// New returns a Client. It sends nothing; the first call for an ID does. It
// returns what [Options.Validate] finds.
func New(o Options) (*Client, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c := &Client{
		options: o.withDefaults(), token: &o.Token, http: o.HTTPClient,
		increments: map[string]*Sequence[int64]{}, formatteds: map[string]*Sequence[string]{}, snowflakes: map[string]*Snowflake{},
	}
	c.options.Token = ""
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
func (c *Client) Increment(key string) *Sequence[int64] {
	return handle(c, c.increments, key, newIncrement)
}

// Formatted returns the handle of a formatted key, the same one at each call. An ID has the
// date at which it was fetched, at most [Options.FormattedAge] before it is given.
func (c *Client) Formatted(key string) *Sequence[string] {
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

// sendOnce sends the request once, to a URL of the service.
func (c *Client) sendOnce(ctx context.Context, base string, r request) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	sent, err := c.buildRequest(ctx, base, r)
	if err != nil {
		return err
	}
	c.count.requests.Add(1)
	response, err := c.http.Do(sent)
	if err != nil {
		return withoutURL(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("the answer ended early: %w", err)
	}
	return readAnswer(response, body, r.read)
}

// keepingOrigin returns a client that follows the redirects of [access.KeepOrigin] alone, if the
// caller's client follows them, too.
func keepingOrigin(c *http.Client) *http.Client {
	own, follow := *c, c.CheckRedirect
	own.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if err := access.KeepOrigin(r, via); err != nil || follow == nil {
			return err
		}
		return follow(r, via)
	}
	return &own
}

// errInClear says that a request for administrators was not sent.
var errInClear = errors.New("a request for administrators would send the token in the clear: use https, or set PlainHTTP if the network encrypts")

// checkClear refuses a request for administrators if one of the URLs would show its token to the network.
func (c *Client) checkClear(r request) error {
	if c.options.PlainHTTP || *c.token == "" || strings.HasPrefix(r.path, "/v1/id/") {
		return nil
	}
	for _, base := range c.urls {
		u, err := url.Parse(base)
		if err != nil {
			return err
		}
		if access.InClear(u) {
			return fmt.Errorf("%s: %w", u.Redacted(), errInClear)
		}
	}
	return nil
}

func (c *Client) buildRequest(ctx context.Context, base string, r request) (*http.Request, error) {
	target := base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	sent, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, err
	}
	if *c.token != "" {
		sent.Header.Set("Authorization", "Bearer "+string(*c.token))
	}
	if r.body != nil {
		sent.Header.Set("Content-Type", "application/json")
	}
	return sent, nil
}

// send sends a request until there is an answer, or as often as [Retry] says. The error is a
// [*RequestError].
func (c *Client) send(ctx context.Context, r request) error {
	err := c.checkClear(r)
	if err != nil {
		return requestError(r, 0, err, false)
	}
	tries, pauses, uncertain := 0, 0, false
	for {
		index := c.url.Load()
		err = c.sendOnce(ctx, c.urls[index], r)
		if err == nil {
			return nil
		}
		c.count.failures.Add(1)
		if tries++; ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
			break
		}
		pause, again := c.planRetry(err, tries, &pauses)
		if !again {
			break
		}
		uncertain = uncertain || mayBeDone(err)
		if mayWorkElsewhere(err) {
			c.failover(index)
		}
		if sleep.For(ctx, pause) != nil {
			err = errors.Join(context.Cause(ctx), err)
			break
		}
	}
	return requestError(r, tries, err, uncertain)
}

// planRetry reports whether to send a request again after so many tries, and after which pause:
// none until each URL was tried.
func (c *Client) planRetry(err error, tries int, pauses *int) (time.Duration, bool) {
	if !retryable(err) || tries >= c.options.Retry.Attempts*len(c.urls) {
		return 0, false
	}
	var refusal *api.Error
	if errors.As(err, &refusal) && refusal.RetryAfter > 0 && (len(c.urls) == 1 || !mayWorkElsewhere(err)) {
		return refusal.RetryAfter + jitter(c.options.Retry.First), refusal.RetryAfter <= maxRetryAfter
	}
	if mayWorkElsewhere(err) && tries%len(c.urls) != 0 {
		return 0, true
	}
	*pauses++
	return c.options.Retry.pauseAfter(*pauses), true
}

// failover makes later requests go to the next URL, unless another request has
// changed the URL already.
func (c *Client) failover(from int64) {
	if len(c.urls) > 1 && c.url.CompareAndSwap(from, (from+1)%int64(len(c.urls))) {
		c.count.failovers.Add(1)
	}
}

// maxRetryAfter bounds the wait that the service may ask for.
const maxRetryAfter = 30 * time.Second

// retryable reports whether the same request may succeed later: a refusal for a while, a failed connection, an
// answer that was cut off.
func retryable(err error) bool {
	var refusal *api.Error
	if !errors.As(err, &refusal) {
		return true
	}
	switch refusal.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	case http.StatusServiceUnavailable:
		return refusal.Code != api.Exhausted
	}
	return false
}

// mayWorkElsewhere reports whether another URL may answer at once. A limit of requests holds
// for the token at each URL.
func mayWorkElsewhere(err error) bool {
	var refusal *api.Error
	return !errors.As(err, &refusal) || refusal.Status != http.StatusTooManyRequests
}

// mayBeDone reports whether a request that failed may have been carried out: unless it reached
// no service, or was refused because of a limit.
func mayBeDone(err error) bool {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return false
	}
	return mayWorkElsewhere(err)
}
