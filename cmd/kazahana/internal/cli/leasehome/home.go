// SPDX-License-Identifier: Apache-2.0

package leasehome

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/lease"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
	"github.com/kazahana-db/kazahana/lease/memory"
	"github.com/kazahana-db/kazahana/lease/redis"
	"github.com/kazahana-db/kazahana/lease/sqlite"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// Home is the opened place of leases.
type Home struct {
	Lister
	Provider   idgen.LeaseProvider
	Quarantine Quarantiner // nil for a lease server
	Layout     idgen.Layout
	Close      func() error
}

// Lister lists leases and services, as a [lease.Server] does.
type Lister interface {
	List(ctx context.Context, serviceID string, options lease.ListOptions) (lease.Page, error)
	Services(ctx context.Context, after string, limit int) ([]string, error)
}

// Quarantiner begins and ends quarantines, as a [lease.Server] does.
type Quarantiner interface {
	Quarantine(ctx context.Context, serviceID string, d time.Duration) (time.Time, error)
	EndQuarantine(ctx context.Context, serviceID string) error
}

// EachLease calls do with each lease of a service, a page at a time. If some cannot be read, it
// goes on with the others, and the error names those at the end.
func (h *Home) EachLease(ctx context.Context, service string, options lease.ListOptions, do func(lease.Info) error) error {
	var damage error
	for {
		page, err := h.List(ctx, service, options)
		if err != nil && page.UnreadBlocks(err) == nil {
			return err
		}
		damage = errors.Join(damage, err)
		for _, info := range page.Leases {
			if err := do(info); err != nil {
				return err
			}
		}
		if options.After = page.Next; options.After == "" {
			return damage
		}
	}
}

// EachService calls do with each service, a page at a time.
func (h *Home) EachService(ctx context.Context, do func(id string) error) error {
	const page = 1000
	for after := ""; ; {
		ids, err := h.Services(ctx, after, page)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := do(id); err != nil {
				return err
			}
		}
		if len(ids) == 0 {
			return nil
		}
		after = ids[len(ids)-1]
	}
}

// homes has the functions that open each kind of place, by the scheme of its name.
var homes = map[string]func(ctx context.Context, o OpenOptions) (*Home, error){
	"memory":   openMemory,
	"sqlite":   openSQLite,
	"redis":    openRedis,
	"rediss":   openRedis,
	"embedded": openEmbedded,
	"fdb":      openFDB,
	"http":     openHTTP,
	"https":    openHTTP,
}

// openMemory leases from memory. Unless the server is fresh, an earlier process may have
// granted leases: it waits until these have ended.
func openMemory(_ context.Context, o OpenOptions) (*Home, error) {
	if !o.Serves {
		return nil, shell.Invalid(errors.New("memory: ends with the command; it is for lease serve"))
	}
	return serverOf(memory.NewStore(nil), o, func() error { return nil })
}

func openSQLite(_ context.Context, o OpenOptions) (*Home, error) {
	if o.rest == "" {
		return nil, shell.Invalid(errors.New("sqlite: which file? As in sqlite:leases.db"))
	}
	if err := o.expectStored(o.rest, "no file "+o.rest); err != nil {
		return nil, err
	}
	store, err := sqlite.Open(o.rest, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	return serverOf(store, o, store.Close)
}

func openEmbedded(_ context.Context, o OpenOptions) (*Home, error) {
	if o.rest == "" {
		return nil, shell.Invalid(errors.New("embedded: which folder? As in embedded:data"))
	}
	if err := o.expectStored(filepath.Join(o.rest, "IDENTITY"), "no database in the folder "+o.rest); err != nil {
		return nil, err
	}
	db, err := embedded.Open(o.rest)
	if err != nil {
		return nil, err
	}
	return openKV(db, o, db.Close)
}

func openFDB(_ context.Context, o OpenOptions) (*Home, error) {
	db, err := fdbkv.Open(o.rest)
	if err != nil {
		return nil, err
	}
	return openKV(db, o, db.Close)
}

// openKV leases from a database, as programs do that open it with persistable. The database
// loses nothing that it has acknowledged.
func openKV(db kv.Database, o OpenOptions, end func() error) (*Home, error) {
	o.Server.Fresh = true
	store, err := leasefdb.NewStore(db, leasefdb.Options{})
	if err == nil {
		return serverOf(store, o, end)
	}
	return nil, errors.Join(err, end())
}

// serverOf returns the leases that a server grants from a store.
func serverOf(store lease.Store, o OpenOptions, end func() error) (*Home, error) {
	server, err := lease.NewServer(store, o.Server)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return &Home{Lister: server, Provider: server, Quarantine: server, Close: end}, nil
}

// openRedis takes the URLs that go-redis takes: redis://user:password@host:port/db.
func openRedis(_ context.Context, o OpenOptions) (*Home, error) {
	logging.Disable() // it logs connections; errors are returned as well
	client, err := redisClient(o.At)
	if err != nil {
		return nil, err
	}
	store, err := redis.New(client, redis.Options{})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return serverOf(store, o, client.Close)
}

func redisClient(url string) (*goredis.Client, error) {
	options, err := goredis.ParseURL(url)
	if err != nil {
		return nil, shell.Invalid(errors.New("this is no URL of Redis, as redis://host:6379/0 is")) // the cause may quote a password
	}
	return goredis.NewClient(options), nil
}

// openHTTP leases from a lease server.
func openHTTP(_ context.Context, o OpenOptions) (*Home, error) {
	client, err := leasehttp.NewClient(leasehttp.ClientOptions{URL: o.At, Token: o.Token, PlainHTTP: o.plainHTTP})
	if err != nil {
		return nil, shell.Invalid(err)
	}
	return &Home{Lister: client, Provider: client, Close: func() error { return nil }}, nil
}
