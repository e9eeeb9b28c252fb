// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// network carries requests to the controllers of a test, by host name.
type network struct {
	mu    sync.Mutex
	hosts map[string]http.Handler
	// faults of what is sent to a host
	cut, mute map[string]bool // lost requests; lost answers
	requests  []string        // paths, in the order of arrival
}

func newNetwork() *network {
	return &network{hosts: map[string]http.Handler{}, cut: map[string]bool{}, mute: map[string]bool{}}
}

// setFaults sets the faults of a host.
func (n *network) setFaults(host string, cut, mute bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[host], n.mute[host] = cut, mute
}

var errNetwork = errors.New("connection reset")

// RoundTrip implements [http.RoundTripper].
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	h, cut, mute := n.hosts[r.URL.Host], n.cut[r.URL.Host], n.mute[r.URL.Host]
	if !cut && h != nil {
		n.requests = append(n.requests, r.URL.Path)
	}
	n.mu.Unlock()
	if cut || h == nil {
		<-r.Context().Done() // packets are lost: the client's time limit ends it
		return nil, r.Context().Err()
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	if mute {
		return nil, errNetwork
	}
	return answer.Result(), nil
}

// site is a store with controllers and a network.
type site struct {
	*testing.T
	network *network
	store   store.Store
	mu      sync.Mutex
	fault   func(storetest.Call) storetest.Fault
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, test func(s *site)) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{T: t, network: newNetwork()}
		s.store = storetest.Faulty(storetest.Documents(), s.decideFault)
		test(s)
	})
}

func (s *site) decideFault(c storetest.Call) storetest.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == nil {
		return storetest.Fault{}
	}
	return s.fault(c)
}

func (s *site) setFault(fault func(storetest.Call) storetest.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// since is added to the time of a bubble, which begins in 2000.
const since = 30 * 365 * 24 * time.Hour

// quiet logs nothing.
var quiet = slog.New(slog.DiscardHandler)

// authorize admits the token "admin".
func authorize(r *http.Request) error {
	if r.Header.Get("Authorization") != "Bearer admin" {
		return api.Errorf(api.Authentication, "wrong token")
	}
	return nil
}

// node is a controller that runs.
type node struct {
	*Controller
	host string
	kill func() // as kill -9 does: it sends nothing before its end
}

// startController starts a controller with a wrong clock.
func (s *site) startController(host string, off time.Duration) *node {
	s.Helper()
	cutOff := &severedStore{Store: s.store}
	c, err := New(cutOff, Options{Authorize: authorize, Now: func() time.Time { return time.Now().Add(since + off) }, Logger: quiet})
	if err != nil {
		s.Fatal(err)
	}
	s.network.mu.Lock()
	s.network.hosts[host] = c.Handler()
	s.network.mu.Unlock()
	stop := s.start(c.Run)
	return &node{Controller: c, host: host, kill: func() {
		s.network.setFaults(host, true, false)
		cutOff.sever()
		stop()
	}}
}

// start runs fn in a goroutine until stop is called or the test ends.
func (s *site) start(fn func(ctx context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = fn(ctx) // the cause of ctx
	}()
	stop = func() { cancel(); <-done }
	s.Cleanup(stop)
	return stop
}

// startWorker starts a worker that knows controllers.
func (s *site) startWorker(options ClientOptions, hosts ...string) (c *Client, stop func()) {
	s.Helper()
	for _, host := range hosts {
		options.Endpoints = append(options.Endpoints, "http://"+host)
	}
	options.Token, options.Transport, options.Logger = "admin", s.network, quiet
	if options.Address == "" {
		options.Address = "http://worker:8080"
	}
	c, err := NewClient(options)
	if err != nil {
		s.Fatal(err)
	}
	return c, s.start(c.Run)
}

// after lets time pass, and waits until all goroutines have done what is due.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// listWorkers returns the workers that a controller lists.
func (s *site) listWorkers(n *node) []Worker {
	s.Helper()
	list, err := n.Workers(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return list.Items
}
