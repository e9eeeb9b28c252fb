// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/internal/access"
	"github.com/kazahana-db/kazahana/internal/idbuilder/controller"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// link is a worker's connection to the controllers; nil if there are none.
type link struct {
	client   *controller.Client
	interval time.Duration
	load     atomic.Pointer[controller.Load]
}

// newLink returns the link that the settings describe, not started.
func newLink(s *settings.Settings, log *slog.Logger) (*link, error) {
	if s.Controller.Endpoint == "" {
		return nil, nil
	}
	address, err := addressOf(s)
	if err != nil {
		return nil, err
	}
	warnOfAdminToken(s, log)
	l := &link{interval: s.Controller.HeartbeatInterval}
	l.client, err = controller.NewClient(controller.ClientOptions{
		Endpoints: endpoints(s.Controller.Endpoint), Token: cmp.Or(s.Controller.Token, s.Auth.AdminToken).Reveal(),
		Address: address, Version: shell.Version(), Logger: log,
		Load: func() controller.Load { return *l.load.Load() },
	})
	return l, err
}

// warnOfAdminToken says that the worker shows controllers an admin token in the clear.
func warnOfAdminToken(s *settings.Settings, log *slog.Logger) {
	for _, e := range endpoints(s.Controller.Endpoint) {
		if u, err := url.Parse(e); err == nil && access.InClear(u) && s.Controller.Token == "" {
			log.Warn("the worker shows the controller auth.admin_token without TLS; give it a token that can only register, with controller.token: idbuilder token worker makes it", "endpoint", e)
		}
	}
}

func endpoints(list string) (urls []string) {
	for one := range strings.SplitSeq(list, ",") {
		urls = append(urls, strings.TrimSpace(one))
	}
	return urls
}

// addressOf returns the address at which clients reach a worker.
func addressOf(s *settings.Settings) (string, error) {
	if s.Controller.Address != "" {
		return s.Controller.Address, nil
	}
	if s.Server.Port == 0 {
		return "", fmt.Errorf("controller.address: it is needed where server.port is 0")
	}
	scheme, host := "http", s.Server.Host
	if s.Server.TLSCert != "" {
		scheme = "https"
	}
	if host == "" || host == "0.0.0.0" || host == "::" {
		var err error
		if host, err = os.Hostname(); err != nil {
			return "", fmt.Errorf("controller.address is empty: %w", err)
		}
	}
	return scheme + "://" + address(host, s.Server.Port), nil
}

// state returns the state of the controllers for /ready and the metrics; nil if there are
// none.
func (l *link) state() func() controller.State {
	if l == nil {
		return nil
	}
	return l.client.State
}

// workers returns the live workers for the console; nil if there are no controllers.
func (l *link) workers() func(context.Context) (controller.Workers, error) {
	if l == nil {
		return nil
	}
	return l.client.Workers
}

// start registers the worker, and sends heartbeats until ctx ends or stop is called. stop waits
// until the worker has left.
func (l *link) start(ctx context.Context, w *worker.Worker) (stop func()) {
	if l == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done, measured := make(chan struct{}, 2), make(chan struct{})
	go func() { l.measureLoad(ctx, w, measured); done <- struct{}{} }()
	go func() {
		<-measured            // the first registration says that the worker is ready
		_ = l.client.Run(ctx) // returns the cause of ctx
		done <- struct{}{}
	}()
	return func() {
		cancel()
		<-done
		<-done
	}
}

// measureLoad measures the load once in each interval. It closes measured after the first time.
func (l *link) measureLoad(ctx context.Context, w *worker.Worker, measured chan<- struct{}) {
	tick := time.NewTicker(l.interval)
	defer tick.Stop()
	var before float64
	for begun := time.Now(); ; {
		load := controller.Load{Ready: w.Ready(ctx).Components["storage"]}
		var requests float64
		requests, load.Cached = counts(w)
		now := time.Now()
		if seconds := now.Sub(begun).Seconds(); seconds > 0.01 {
			load.RequestsPerSecond = max(0, requests-before) / seconds // keys that are idle leave the sum
		}
		before, begun = requests, now
		if l.load.Swap(&load) == nil {
			close(measured)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// counts sums the requests of all keys, and the numbers that are reserved.
func counts(w *worker.Worker) (requests float64, cached int64) {
	for k := range w.KeyLoads() {
		requests += float64(k.Requests)
		cached += int64(min(k.Remaining, math.MaxInt64/1_000_000)) // the sum of a million keys fits
	}
	return requests, cached
}
