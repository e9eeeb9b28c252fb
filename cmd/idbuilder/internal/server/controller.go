// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/controller"
	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
	"github.com/kazahana-db/kazahana/internal/shell"
)

func ControllerCommand(p *program.Program) *cobra.Command {
	return &cobra.Command{
		Use: "controller", Short: "Keep account of the workers of a service", Args: shell.Arguments(cobra.NoArgs),
		Long: `Keep account of the workers of a service, until interrupted: which live, how busy they are, and where clients
reach them. It works on the store of the workers, and takes the same admin token. Without --host or the
setting server.host, workers of this machine alone reach it. Any number of controllers may run. No ID depends on one: workers that have lost all of them go on.`,
		Example: "  idbuilder controller --host 0.0.0.0 --port 8090 --config idbuilder.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.Settings(cmd)
			if err != nil {
				return step(1, "load the configuration", err)
			}
			useThreads(s.Server.Workers)
			return runController(cmd.Context(), p, s, p.ServerLogger(s.Observability))
		},
	}
}

// runController serves until ctx ends.
func runController(ctx context.Context, p *program.Program, s *settings.Settings, log *slog.Logger) (err error) {
	h, err := program.Open(ctx, s.Storage, log)
	if err != nil {
		return step(3, "connect to the store", err)
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := h.Initialise(ctx, s.Storage); err != nil {
		return step(4, "initialise the schema of the store", err)
	}
	watch, err := revision.New(h, revision.Options{Validity: s.Auth.Cache})
	if err != nil {
		return step(9, "start the server", err)
	}
	defer watch.Close()
	tokens, err := token.New(h, watch, token.Options{Admin: s.Auth.AdminToken.Reveal(), Expiry: s.Auth.KeyTokenExpiration})
	if err != nil {
		return step(9, "start the server", err)
	}
	accounts, err := controller.New(h, controller.Options{
		Authorize:        authorize(tokens, func(who token.Identity) bool { return who.Admin || who.Worker }),
		AuthorizeBalance: authorize(tokens, func(token.Identity) bool { return true }),
		Heartbeat:        s.Controller.HeartbeatInterval, Timeout: s.Limits.RequestTimeout, Logger: log,
	})
	if err != nil {
		return step(9, "start the server", err)
	}
	return serveController(ctx, p, s, h, tokens, accounts, log)
}

// serveController listens, shows where, and serves.
func serveController(ctx context.Context, p *program.Program, s *settings.Settings, h program.Home, tokens *token.Authority, accounts *controller.Controller, log *slog.Logger) error {
	secure, err := tlsConfig(s.Server)
	if err != nil {
		return step(9, "start the server", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", accounts.Handler())
	mux.HandleFunc("GET /health", healthy)
	mux.HandleFunc("GET /ready", readiness(newPinger(h.Ping, s.Limits.RequestTimeout, log)))
	sites, err := controllerSites(s, mux, secure, &controllerMetrics{accounts, s.Limits.RequestTimeout})
	if err != nil {
		return step(9, "start the server", err)
	}
	if err := showStart(ctx, p, s, tokens, startOf(s, h, sites).ofController()); err != nil {
		closeSites(sites)
		return step(9, "start the server", err)
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- accounts.Run(running) }()
	err = serve(ctx, sites, s, log)
	stop()
	<-done // the cause of running
	return err
}

func healthy(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"code":0,"message":"success","data":{"status":"healthy","version":%q}}`, shell.Version())
}

// authorize returns a function that checks the tokens of requests.
func authorize(tokens *token.Authority, permits func(token.Identity) bool) func(*http.Request) error {
	return func(r *http.Request) error {
		text := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if text == "" {
			return api.Errorf(api.Authentication, "Authorization: there is no token")
		}
		who, err := tokens.Check(r.Context(), text)
		switch {
		case errors.Is(err, token.ErrInvalid), errors.Is(err, token.ErrExpired):
			return api.Errorf(api.Authentication, "Authorization: the token is unknown or has expired")
		case err != nil:
			return &api.Error{Code: api.Unavailable, Message: "the token cannot be checked now", Err: err}
		case !permits(who):
			return api.Errorf(api.Authorization, "Authorization: this needs the token of workers, or an admin token")
		}
		return nil
	}
}

// controllerSites listens at the addresses of a controller. Since workers of the same machine may
// use observability.metrics.port, its metrics are at the server's address, or at the one of
// their own that the settings name.
func controllerSites(s *settings.Settings, mux http.Handler, secure *tls.Config, c prometheus.Collector) ([]*site, error) {
	m := s.Observability.Metrics
	at, err := newSite(serverKey, address(s.Server.Host, s.Server.Port), withMetrics(m, mux, c), secure)
	if err != nil || !m.Enabled || m.Listen == "" {
		return []*site{at}, err
	}
	own := http.NewServeMux()
	own.Handle("GET "+m.Path, metricsHandler(m, c))
	shown, err := newSite(metricsKey, m.Listen, own, nil)
	if err != nil {
		closeSites([]*site{at})
	}
	return []*site{at, shown}, err
}

// pinger asks the store whether it answers, which is a durable write for most stores. Those who ask
// at the same time, or within a second, share an answer: GET /ready needs no token.
type pinger struct {
	ping  func(context.Context) error
	limit time.Duration
	log   *slog.Logger
	turn  chan struct{} // of capacity 1: in it while one asks
	at    time.Time     // of the answer
	err   error         // the answer
}

func newPinger(ping func(context.Context) error, limit time.Duration, log *slog.Logger) *pinger {
	return &pinger{ping: ping, limit: min(5*time.Second, limit), log: log, turn: make(chan struct{}, 1)}
}

// answer returns the store's answer. Who asks the store does so for the others too, and goes on
// when ctx has ended.
func (p *pinger) answer(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-p.turn }()
	if !p.at.IsZero() && time.Since(p.at) < time.Second {
		return p.err
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.limit)
	defer cancel()
	p.err = p.ping(asking)
	p.at = time.Now()
	if p.err != nil {
		p.log.Warn("the store does not answer", "error", p.err)
	}
	return p.err
}

// readiness answers GET /ready: whether the store answers.
func readiness(store *pinger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), store.limit)
		defer cancel()
		reply, status := api.Reply[api.Readiness]{Message: api.Success}, http.StatusOK
		err := store.answer(ctx)
		if err != nil {
			reply.Code, reply.Message, status = api.Unavailable, "service unavailable", http.StatusServiceUnavailable
		}
		reply.Data = api.Readiness{Ready: err == nil, Components: map[string]bool{"storage": err == nil}}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(reply) // the client may be gone
	}
}

// controllerMetrics are the metrics of a controller.
type controllerMetrics struct {
	accounts *controller.Controller
	limit    time.Duration
}

var (
	liveWorkers = prometheus.NewDesc("idbuilder_controller_workers", "Workers that live; absent while the store does not answer.", nil, nil)
	leads       = prometheus.NewDesc("idbuilder_controller_leader", "1 while this controller leads; absent while the store does not answer.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (m *controllerMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- liveWorkers
	out <- leads
}

// Collect implements [prometheus.Collector].
func (m *controllerMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), min(5*time.Second, m.limit))
	defer cancel()
	workers, err := m.accounts.Workers(ctx)
	if err != nil {
		return
	}
	leader := 0.0
	if workers.Leader {
		leader = 1
	}
	out <- prometheus.MustNewConstMetric(liveWorkers, prometheus.GaugeValue, float64(len(workers.Items)))
	out <- prometheus.MustNewConstMetric(leads, prometheus.GaugeValue, leader)
}
