// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/access"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/sleep"
)

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
	if c.options.PlainHTTP || c.options.Token == "" || strings.HasPrefix(r.path, "/v1/id/") {
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
	if c.options.Token != "" {
		sent.Header.Set("Authorization", "Bearer "+c.options.Token)
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
		return &RequestError{Method: r.method, Path: r.path, Key: r.query.Get("key"), Err: err}
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
	return &RequestError{Method: r.method, Path: r.path, Key: r.query.Get("key"), Tries: tries, Err: err, uncertain: uncertain}
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
