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
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// The paths of a controller.
const (
	RegisterPath  = "/v1/controller/register"  // POST: [Registration], answered by [Assignment]
	HeartbeatPath = "/v1/controller/heartbeat" // POST: [Heartbeat], answered by [Assignment]
	LeavePath     = "/v1/controller/leave"     // POST: [Leave]
	WorkersPath   = "/v1/controller/workers"   // GET: [Workers]
	BalancePath   = "/v1/controller/balance"   // GET: [Balance]
)

// Registration describes a worker.
type Registration struct {
	// Instance names the worker's process: 1 to 64 letters, digits, '.', '_' or
	// '-', made at random.
	Instance string `json:"instance"`
	// Address is the URL at which clients reach the worker.
	Address string    `json:"address"`
	Version string    `json:"version,omitempty"` // of its program
	Started time.Time `json:"started_at"`
	// Sequence is greater in each request of an instance, so that one which
	// arrives late is not taken for the last.
	Sequence int64 `json:"sequence"`
	Load
}

// Load is the load of a worker.
type Load struct {
	RequestsPerSecond float64 `json:"requests_per_second"`
	Cached            int64   `json:"cached"` // numbers that it has reserved and not given
	// Ready says that the worker can answer requests. Clients are sent to ready workers only.
	Ready bool `json:"ready"`
}

// Heartbeat says that a worker lives.
type Heartbeat struct {
	Registration
	LeaseKey string `json:"lease_key"` // of the last Assignment
}

// Leave says that a worker ends.
type Leave struct {
	Instance string `json:"instance"`
	LeaseKey string `json:"lease_key"`
}

// Assignment is a leased worker id. The worker has it for LeaseDuration from the time at which
// it sent the request.
type Assignment struct {
	WorkerID          int64   `json:"worker_id"`
	LeaseKey          string  `json:"lease_key"`          // to be sent with heartbeats; a secret
	LeaseDuration     float64 `json:"lease_duration"`     // in seconds
	HeartbeatInterval float64 `json:"heartbeat_interval"` // in seconds: when to send the next one
	// Revision is the store's. It changes with each change of configurations or
	// tokens.
	Revision int64 `json:"revision"`
}

// Worker is a registered worker.
type Worker struct {
	WorkerID int64 `json:"worker_id"`
	Registration
	// Heartbeat is when a controller got the last heartbeat, by its clock.
	Heartbeat time.Time `json:"heartbeat_at"`
}

// Workers is the list of the workers that live.
type Workers struct {
	Items    []Worker `json:"items"` // in the order of their worker ids
	Revision int64    `json:"revision"`
	Leader   bool     `json:"leader"` // this controller leads
}

// Balance tells clients which workers to send requests to.
type Balance struct {
	Targets []Target `json:"targets"` // none: no worker is ready
	// TTL is the number of seconds after which to ask again.
	TTL float64 `json:"ttl"`
}

// Target is a worker that is ready. A client sends it Weight of all requests,
// divided by the sum of the weights.
type Target struct {
	Address string `json:"address"`
	Weight  int    `json:"weight"` // 1 to 100
}

// Validate reports everything that is wrong with the registration.
func (r Registration) Validate() error {
	var faults []error
	if !validInstance(r.Instance) {
		faults = append(faults, errors.New("instance: it must have 1 to 64 letters, digits, '.', '_' or '-'"))
	}
	if u, err := url.Parse(r.Address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || len(r.Address) > 512 {
		faults = append(faults, errors.New("address: it must be a URL such as http://worker-1:8080, of at most 512 bytes, without a user"))
	}
	if len(r.Version) > 100 || !utf8.ValidString(r.Version) {
		faults = append(faults, errors.New("version: it must have at most 100 bytes of UTF-8"))
	}
	if y := r.Started.Year(); y < 1 || y > 9999 {
		faults = append(faults, errors.New("started_at: the year must have four digits"))
	}
	return errors.Join(append(faults, r.check())...)
}

// check reports values that no controller sends.
func (a Assignment) check() error {
	if a.WorkerID < 0 || a.LeaseKey == "" || !(a.LeaseDuration > 0 && a.LeaseDuration <= maxSeconds) || !(a.HeartbeatInterval > 0 && a.HeartbeatInterval <= maxSeconds) {
		return fmt.Errorf("controller: an answer with the worker id %d, a lease of %v s and heartbeats each %v s is not believed", a.WorkerID, a.LeaseDuration, a.HeartbeatInterval)
	}
	return nil
}

// maxSeconds is a day.
const maxSeconds = 24 * 60 * 60

func (l Load) check() error {
	if !(l.RequestsPerSecond >= 0 && l.RequestsPerSecond <= 1e12) || l.Cached < 0 {
		return fmt.Errorf("requests_per_second: it is %v, and cached %d; they must not be negative, nor the rate above 1e12", l.RequestsPerSecond, l.Cached)
	}
	return nil
}

func validInstance(s string) bool {
	for _, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

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
