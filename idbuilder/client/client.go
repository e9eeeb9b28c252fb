// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// Client gets IDs from the service. Make one for a token and keep it.
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
	formatteds map[string]*Formatted
	snowflakes map[string]*Snowflake
}

// New returns a Client. It sends nothing; the first call for an ID does. It
// returns what [Options.Validate] finds.
func New(o Options) (*Client, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c := &Client{options: o.withDefaults(), http: o.HTTPClient, increments: map[string]*Increment{}, formatteds: map[string]*Formatted{}, snowflakes: map[string]*Snowflake{}}
	for _, url := range o.URLs {
		c.urls = append(c.urls, strings.TrimRight(url, "/"))
	}
	if c.http == nil {
		c.own = http.DefaultTransport.(*http.Transport).Clone()
		c.own.MaxIdleConnsPerHost = 16
		c.http = &http.Client{Transport: c.own}
	}
	c.context, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// Increment returns the handle of an increment key, the same one at each call.
func (c *Client) Increment(key string) *Increment {
	return handle(c, c.increments, key, newIncrement)
}

// Formatted returns the handle of a formatted key, the same one at each call.
func (c *Client) Formatted(key string) *Formatted {
	return handle(c, c.formatteds, key, newFormatted)
}

// Snowflake returns the handle of a snowflake key, the same one at each call. It leases
// a worker id at its first ID and keeps it until the client is closed.
func (c *Client) Snowflake(key string) *Snowflake {
	return handle(c, c.snowflakes, key, newSnowflake)
}

// closer is a handle: close refuses further IDs.
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

// Close ends all requests of handles, and waits until their goroutines are gone. Handles give no
// further IDs, only [ErrClosed]; what they had fetched is a gap.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	closeAll(c.increments)
	closeAll(c.formatteds)
	closeAll(c.snowflakes)
	c.mu.Unlock()
	c.cancel()
	c.running.Wait()
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

func closeAll[H closer](handles map[string]H) {
	for _, h := range handles {
		h.close()
	}
}
