// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// wire sends requests to one of several controllers: the one that answered last, or
// else the next.
type wire struct {
	client    *http.Client
	endpoints []string
	token     string
	timeout   time.Duration
	current   atomic.Int64 // index of the endpoint that answered last
}

// maxAnswer bounds the body of an answer, in bytes: the list of a thousand workers
// and more.
const maxAnswer = 1 << 20

func newWire(o ClientOptions) *wire {
	w := &wire{token: o.Token, timeout: o.Timeout, client: &http.Client{
		Transport:     o.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is for the endpoint
	}}
	for _, e := range o.Endpoints {
		w.endpoints = append(w.endpoints, strings.TrimRight(e, "/"))
	}
	return w
}

// postJSON sends a request with a body.
func (w *wire) postJSON(ctx context.Context, path string, request, data any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	return w.send(ctx, http.MethodPost, path, body, data)
}

// send sends a request and decodes the data of the answer. If a controller does not
// answer, or refuses for now, send asks the next one. An [*api.Error] is the answer of the last one.
func (w *wire) send(ctx context.Context, method, path string, body []byte, data any) error {
	first := w.current.Load()
	var faults []error
	for i := range w.endpoints {
		at := (first + int64(i)) % int64(len(w.endpoints))
		err := w.sendOnce(ctx, method, w.endpoints[at]+path, body, data)
		if err == nil || !mayWorkElsewhere(err) {
			w.current.Store(at)
			return err
		}
		faults = append(faults, err)
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(faults...)
}

// mayWorkElsewhere reports whether another controller may answer better.
func mayWorkElsewhere(err error) bool {
	var e *api.Error
	return !errors.As(err, &e) || e.HTTPStatus() >= 500
}

// sendOnce sends the request to one controller.
func (w *wire) sendOnce(ctx context.Context, method, url string, body []byte, data any) error {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+w.token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := w.client.Do(r)
	if err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("controller: %s: the answer was cut short: %w", url, err)
	}
	return decode(url, answer.StatusCode, text, data)
}

// decode reads an answer.
func decode(endpoint string, status int, text []byte, data any) error {
	var reply api.Reply[json.RawMessage]
	if len(text) > maxAnswer || json.Unmarshal(text, &reply) != nil || (reply.Code == api.OK) != (status == http.StatusOK) {
		return fmt.Errorf("controller: %s answers with status %d, and nothing that a controller says", endpoint, status)
	}
	if reply.Code != api.OK {
		return &api.Error{Code: reply.Code, Status: status, Message: endpoint + ": " + reply.Message}
	}
	if err := json.Unmarshal(reply.Data, data); err != nil {
		return fmt.Errorf("controller: %s: the data of the answer: %w", endpoint, err)
	}
	return nil
}
