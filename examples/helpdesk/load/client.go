// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// maxAttempts bounds how often a request is sent that is answered with 503.
const maxAttempts = 20

// client sends requests with one token.
type client struct {
	http  *http.Client
	base  string
	token string
	times *times
}

// request is one request. Its name is that under which its time is counted.
type request struct {
	name, method, path string
	ifMatch            string
	body               any
}

// send sends a request until the answer is not 503, decodes the answer, and returns it.
func (c *client) send(ctx context.Context, r request, into any) (*http.Response, error) {
	for range maxAttempts {
		answer, err := c.sendOnce(ctx, r, into)
		if err != nil || answer.StatusCode != http.StatusServiceUnavailable {
			return answer, err
		}
		c.times.retry()
		if err := pause(ctx, answer.Header.Get("Retry-After")); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s %s: 503 %d times", r.method, r.path, maxAttempts)
}

func pause(ctx context.Context, retryAfter string) error {
	seconds, err := strconv.Atoi(retryAfter)
	if err != nil {
		return fmt.Errorf("503 with Retry-After %q", retryAfter)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Duration(seconds) * time.Second):
		return nil
	}
}

func (c *client) sendOnce(ctx context.Context, r request, into any) (*http.Response, error) {
	body, err := json.Marshal(r.body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if r.ifMatch != "" {
		req.Header.Set("If-Match", r.ifMatch)
	}
	begin := time.Now()
	answer, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	err = json.NewDecoder(answer.Body).Decode(into)
	c.times.add(r.name, time.Since(begin))
	return answer, err
}

// expect sends a request and checks the status of the answer.
func (c *client) expect(ctx context.Context, status int, r request, into any) error {
	var raw json.RawMessage
	answer, err := c.send(ctx, r, &raw)
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	if answer.StatusCode != status {
		return fmt.Errorf("%s %s: status %d, want %d: %s", r.method, r.path, answer.StatusCode, status, raw)
	}
	return json.Unmarshal(raw, into)
}
