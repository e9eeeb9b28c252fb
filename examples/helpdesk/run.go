// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// run serves until ctx ends: a signal. Then it finishes, in this order, the requests, the
// work in the background, the database, the engine.
func run(ctx context.Context, c config, log *slog.Logger) (err error) {
	engine, err := openEngine(c, log)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, engine.Close())
		if err == nil {
			log.Info("stopped")
		}
	}()
	s, err := newService(ctx, engine, c, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()

	var background sync.WaitGroup
	defer background.Wait()
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	background.Go(func() { s.work(working) })
	admin := &http.Server{Addr: c.admin, Handler: s.admin, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute} // exports and imports take their time
	admin.RegisterOnShutdown(s.pages.Close)                                                                              // a page that follows changes would hold it up
	return serve(ctx, log, admin,
		&http.Server{Addr: c.listen, Handler: s.api, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute},
	)
}

// serve runs the servers until ctx ends or one of them fails.
func serve(ctx context.Context, log *slog.Logger, servers ...*http.Server) (err error) {
	failed := make(chan error, len(servers))
	var listeners sync.WaitGroup
	for _, server := range servers {
		listeners.Go(func() {
			if err := listen(server, log); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		})
	}
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	err = errors.Join(err, shutdown(servers))
	listeners.Wait()
	return err
}

func listen(server *http.Server, log *slog.Logger) error {
	l, err := net.Listen("tcp", server.Addr)
	if err != nil {
		return err
	}
	log.Info("serving", "address", l.Addr().String())
	return server.Serve(l)
}

// shutdown lets requests under way finish, for up to ten seconds.
func shutdown(servers []*http.Server) (err error) {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	for _, server := range servers {
		err = errors.Join(err, server.Shutdown(ctx))
	}
	return err
}
