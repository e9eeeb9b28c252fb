// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
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

// newServer returns a server whose time limits are longer than the worker's own.
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
