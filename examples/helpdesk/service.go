// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/examples/helpdesk/desk"
	"github.com/kazahana-db/kazahana/examples/helpdesk/metrics"
	"github.com/kazahana-db/kazahana/examples/helpdesk/web"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/studio"
)

// service is the help desk on an open database: two handlers, and the work in the background.
type service struct {
	db       *persistable.DB
	registry *desk.Registry
	log      *slog.Logger
	pages    *studio.Handler
	api      http.Handler
	admin    http.Handler
}

// openEngine opens the cluster, if there is one, or the folder.
func openEngine(c config, log *slog.Logger) (kv.Database, error) {
	if c.clusterFile != "" {
		return fdbkv.Open(c.clusterFile)
	}
	before, _ := os.ReadDir(c.data) // if it cannot be read, Open says why
	db, err := embedded.Open(c.data)
	if err == nil && len(before) == 0 {
		log.Info("made a new database, without tenants", "folder", c.data)
	}
	return db, err
}

// newService opens the database on an engine. Close the service before the engine.
func newService(ctx context.Context, engine kv.Database, c config, log *slog.Logger) (*service, error) {
	m, err := metrics.New()
	if err != nil {
		return nil, err
	}
	db, err := persistable.Open(ctx, engine, persistable.Options{Tracer: m.Tracer, ExplainConflicts: true})
	if err != nil {
		return nil, err
	}
	s := &service{db: db, registry: desk.NewRegistry(db), log: log}
	s.api = web.NewAPI(s.registry, log)
	if err := s.addAdmin(engine, m, c); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// addAdmin makes what serves the operator: a page over the database, which only reads, and the rest.
func (s *service) addAdmin(engine kv.Database, m *metrics.Metrics, c config) (err error) {
	s.pages, err = studio.New(s.db, studio.Options{Token: c.adminToken, Database: "help desk"})
	if err != nil {
		return err
	}
	s.admin, err = web.NewAdmin(web.Admin{
		Registry: s.registry, Token: c.adminToken, Ready: s.ready, Backup: backupOf(engine, c.backups), Metrics: m.Handler(), Studio: s.pages, Log: s.log,
	})
	return err
}

// ready reads from the database. A service that cannot should get no requests.
func (s *service) ready(ctx context.Context) error {
	_, err := s.db.ListDirectory(ctx)
	return err
}

// backupOf returns what makes a backup of an engine: nil for a cluster, which has tools of its own.
func backupOf(engine kv.Database, folder string) func(context.Context) (string, error) {
	db, ok := engine.(*embedded.Database)
	if !ok {
		return nil
	}
	return func(ctx context.Context) (string, error) {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return "", err
		}
		dir := filepath.Join(folder, time.Now().UTC().Format("2006-01-02T150405.000"))
		_, err := db.Backup(ctx, dir)
		return dir, err
	}
}

// work follows the changes of all tenants and builds new indexes, until ctx ends.
func (s *service) work(ctx context.Context) {
	var jobs sync.WaitGroup
	jobs.Go(func() { desk.NewFollowers(s.registry, s.log).Run(ctx) })
	jobs.Go(func() { s.buildIndexes(ctx) })
	jobs.Wait()
}

// buildIndexes builds what this version of the program needs and an earlier one did not
// have. Until it is done, queries that need it are answered with 503.
func (s *service) buildIndexes(ctx context.Context) {
	begin := time.Now()
	if err := s.registry.BuildIndexes(ctx); err != nil {
		if !errors.Is(err, context.Canceled) {
			s.log.Error("an index could not be built: the service goes on without it", "error", err)
		}
		return
	}
	s.log.Info("all indexes are built", "took", time.Since(begin).Round(time.Millisecond))
}

// close ends the page, and gives the service's machine id back.
func (s *service) close() error {
	if s.pages != nil {
		s.pages.Close()
	}
	return s.db.Close()
}
