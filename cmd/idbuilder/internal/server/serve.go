// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
)

// serve serves the sites until ctx ends or one of them fails, and then finishes the running
// requests.
func serve(ctx context.Context, sites []*site, s *settings.Settings, log *slog.Logger) error {
	failed := make(chan error, len(sites))
	servers := make([]*http.Server, len(sites))
	for i, at := range sites {
		servers[i] = newServer(at.handler, s.Limits, log)
		go func() { failed <- fmt.Errorf("%s: %w", at.key, servers[i].Serve(at.listener)) }()
	}
	select {
	case err := <-failed:
		return errors.Join(err, shutDown(ctx, servers, s.Server.ShutdownTimeout))
	case <-ctx.Done():
	}
	log.Info("ending: finishing what is under way", "at_most", s.Server.ShutdownTimeout.String())
	return shutDown(ctx, servers, s.Server.ShutdownTimeout)
}

// newServer returns a server with longer time limits than the worker's own.
func newServer(handler http.Handler, l settings.Limits, log *slog.Logger) *http.Server {
	const more = 5 * time.Second
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       l.RequestTimeout + more,
		WriteTimeout:      l.RequestTimeout + 2*more,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// shutDown lets running requests finish, of all servers within the same time.
func shutDown(ctx context.Context, servers []*http.Server, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	faults := make([]error, len(servers))
	done := make(chan struct{})
	for i, s := range servers {
		go func() {
			if err := s.Shutdown(ctx); err != nil {
				faults[i] = fmt.Errorf("requests under way were cut off after %v, as server.shutdown_timeout says: %w", limit, errors.Join(err, s.Close()))
			}
			done <- struct{}{}
		}()
	}
	for range servers {
		<-done
	}
	return errors.Join(faults...)
}

// Settings with an address.
const (
	serverKey  = "server.port"
	adminKey   = "admin.listen"
	metricsKey = "observability.metrics.port"
)

// site is a handler with its listener.
type site struct {
	key      string // of the setting with its address
	handler  http.Handler
	listener net.Listener
	secure   bool
}

// workerSites listens at the addresses of a worker. The first site is the server.
func workerSites(s *settings.Settings, w *worker.Worker) (sites []*site, err error) {
	secure, err := tlsConfig(s.Server)
	if err != nil {
		return nil, err
	}
	listen := func(key, address string, handler http.Handler, secure *tls.Config) {
		if err == nil {
			var at *site
			at, err = newSite(key, address, handler, secure)
			sites = append(sites, at)
		}
	}
	listen(serverKey, address(s.Server.Host, s.Server.Port), withMetrics(s.Observability.Metrics, w, w), secure)
	if s.Admin.Listen != "" {
		listen(adminKey, s.Admin.Listen, withMetrics(s.Observability.Metrics, w.Admin(), w), secure)
	}
	if m := s.Observability.Metrics; m.Address(s.Server) != "" {
		mux := http.NewServeMux()
		mux.Handle("GET "+m.Path, metricsHandler(m, w))
		listen(metricsKey, m.Address(s.Server), mux, nil)
	}
	if err != nil {
		closeSites(sites)
		return nil, err
	}
	return sites, nil
}

func address(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// withMetrics replaces the metrics of a handler, which are open to all, by those that the settings
// describe: at another path, for holders of a token, or none, if they have an address of their own.
func withMetrics(m settings.Metrics, handler http.Handler, c ...prometheus.Collector) http.Handler {
	show := metricsHandler(m, c...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == m.Path && m.Enabled && m.Listen == "":
			show.ServeHTTP(w, r)
		case r.URL.Path == "/metrics":
			http.NotFound(w, r)
		default:
			handler.ServeHTTP(w, r)
		}
	})
}

// metricsHandler shows metrics of a worker, of the process and of Go's run-time to holders of the
// token, if there is one.
func metricsHandler(m settings.Metrics, c ...prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(c...)
	show := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !showsToken(r, m.Token.Reveal()) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="metrics"`)
			http.Error(w, "send observability.metrics.token: Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		show.ServeHTTP(w, r)
	})
}

// showsToken reports whether a request has a token; any has none.
func showsToken(r *http.Request, token string) bool {
	shown, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token == "" || subtle.ConstantTimeCompare([]byte(shown), []byte(token)) == 1
}

// newSite returns a site that listens at the address.
func newSite(key, address string, handler http.Handler, secure *tls.Config) (*site, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s: %w; another program, or another worker, listens there: choose another port, with --%s for example", key, err, key)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	if secure != nil {
		listener = tls.NewListener(listener, secure)
	}
	return &site{key, handler, listener, secure != nil}, nil
}

// tlsConfig reads the certificate; nil if there is none.
func tlsConfig(s settings.Server) (*tls.Config, error) {
	if s.TLSCert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(s.TLSCert, s.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("server.tls_cert, server.tls_key: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}, nil
}

// url returns the URL of a site; for this machine if it listens at all addresses.
func (s *site) url() string {
	host, port, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return s.listener.Addr().String()
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http"
	if s.secure {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// closeSites closes listeners that are not served.
func closeSites(sites []*site) {
	var faults []error
	for _, at := range sites {
		if at != nil {
			faults = append(faults, at.listener.Close())
		}
	}
	_ = errors.Join(faults...) // the program ends with another error
}
