// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/deployed"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/file"
	"github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/idbuilder/store/mysql"
	"github.com/kazahana-db/kazahana/idbuilder/store/postgres"
	"github.com/kazahana-db/kazahana/idbuilder/store/redis"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// Home is an open store.
type Home struct {
	store.Store
	Where string // for people, without passwords
}

// homes has the functions that open the stores of each backend.
var homes = map[string]func(ctx context.Context, s settings.Storage, log *slog.Logger) (Home, error){
	settings.Embedded:     openEmbedded,
	settings.FoundationDB: openFoundationDB,
	settings.File:         openFile,
	settings.MySQL:        openMySQL,
	settings.PostgreSQL:   openPostgres,
	settings.Redis:        openRedis,
}

// Open connects to the store that the settings name. The caller initialises it.
func Open(ctx context.Context, s settings.Storage, log *slog.Logger) (Home, error) {
	open := homes[s.Backend]
	if open == nil {
		return Home{}, fmt.Errorf("this program has no store of the kind %q", s.Backend)
	}
	h, err := open(ctx, s, log)
	if err != nil {
		return Home{}, fmt.Errorf("storage.backend %s: %w", s.Backend, err)
	}
	return h, nil
}

// Initialise creates or migrates the schema of the store.
func (h Home) Initialise(ctx context.Context, s settings.Storage) error {
	err := h.Init(ctx)
	if err != nil && s.Backend == settings.File && deployed.Is(s.File.Path) {
		err = fmt.Errorf("%s is the folder of a deployed worker: name another one with storage.file.path, and run idbuilder import %s (%w)", s.File.Path, s.File.Path, err)
	}
	return err
}

func openFile(_ context.Context, s settings.Storage, _ *slog.Logger) (Home, error) {
	f, err := file.Open(s.File.Path, file.Options{})
	return Home{f, s.File.Path}, err
}

func openMySQL(_ context.Context, s settings.Storage, _ *slog.Logger) (Home, error) {
	db, err := mysql.Open(mysql.Options{
		URL: s.MySQL.URL.Reveal(), MaxConnections: s.MySQL.MaxConnections,
		ConnectTimeout: s.MySQL.ConnectTimeout, CallTimeout: s.MySQL.CallTimeout, AcceptLoss: s.MySQL.AcceptLoss,
	})
	return Home{db, s.MySQL.URL.String()}, err
}

func openPostgres(_ context.Context, s settings.Storage, _ *slog.Logger) (Home, error) {
	db, err := postgres.Open(postgres.Options{
		URL: s.Postgres.URL.Reveal(), MaxConnections: s.Postgres.MaxConnections,
		ConnectTimeout: s.Postgres.ConnectTimeout, CallTimeout: s.Postgres.CallTimeout, AcceptLoss: s.Postgres.AcceptLoss,
	})
	return Home{db, s.Postgres.URL.String()}, err
}

func openEmbedded(_ context.Context, s settings.Storage, _ *slog.Logger) (Home, error) {
	db, err := embedded.Open(s.Embedded.Path)
	var locked *embedded.LockedError
	if errors.As(err, &locked) {
		err = fmt.Errorf("%w; one process at a time uses the embedded engine: stop the one that runs, or ask it, if the command has the flag --server", err)
	}
	if err != nil {
		return Home{}, err
	}
	return openKV(db, s.Embedded.Path, db.Close)
}

func openFoundationDB(_ context.Context, s settings.Storage, _ *slog.Logger) (Home, error) {
	db, err := fdbkv.Open(s.FoundationDB.ClusterFile)
	if err != nil {
		return Home{}, err
	}
	return openKV(db, s.FoundationDB.ClusterFile, db.Close)
}

func openKV(db kv.Database, where string, end func() error) (Home, error) {
	s, err := kvstore.New(db, kvstore.Options{})
	if err != nil {
		return Home{}, errors.Join(err, end())
	}
	return Home{kvHome{s, end}, where}, nil
}

// Confirmer is a store that refuses to give numbers when it may have lost some: see [store.ErrLost].
type Confirmer interface {
	Confirm(ctx context.Context, skip int64) error
}

// kvHome closes the database with the store.
type kvHome struct {
	store.Store
	end func() error
}

// Close implements [store.Store].
func (k kvHome) Close() error { return errors.Join(k.Store.Close(), k.end()) }

func openRedis(_ context.Context, s settings.Storage, _ *slog.Logger) (Home, error) {
	logging.Disable() // it logs connections; errors are returned as well
	client, err := redisClient(s.Redis)
	if err != nil {
		return Home{}, err
	}
	r, err := redis.New(client, redis.Options{
		Prefix: s.Redis.KeyPrefix, Durable: s.Redis.Durable, WaitReplicas: s.Redis.WaitReplicas, WaitTimeout: s.Redis.WaitTimeout,
	})
	if err != nil {
		return Home{}, errors.Join(err, client.Close())
	}
	return Home{redisHome{r, client}, fmt.Sprint(s.Redis.URL[0])}, nil
}

// redisClient returns a client of a server, or of a cluster of which the URLs name
// some nodes. User, password and TLS are those of the first URL.
func redisClient(s settings.RedisStorage) (goredis.UniversalClient, error) {
	o := &goredis.UniversalOptions{PoolSize: s.PoolSize, DialTimeout: s.ConnectTimeout, IsClusterMode: s.Clustered()}
	for i, u := range s.URL {
		node, err := goredis.ParseURL(u.Reveal())
		if err != nil {
			return nil, fmt.Errorf("storage.redis.url: %s is not a URL of Redis, as redis://host:6379/0 is", u) // the cause may quote a password
		}
		o.Addrs = append(o.Addrs, node.Addr)
		switch {
		case i == 0:
			o.DB, o.Username, o.Password, o.TLSConfig = node.DB, node.Username, node.Password, node.TLSConfig
		case node.Username != o.Username || node.Password != o.Password || (node.TLSConfig == nil) != (o.TLSConfig == nil):
			return nil, errors.New("storage.redis.url: the URLs have different users, passwords or schemes; the nodes of a cluster share theirs")
		}
	}
	if s.Clustered() && o.DB != 0 {
		return nil, errors.New("storage.redis.url: a cluster has no database but 0")
	}
	return goredis.NewUniversalClient(o), nil
}

// redisHome closes the client with the store.
type redisHome struct {
	*redis.Store
	client goredis.UniversalClient
}

// Close implements [store.Store].
func (r redisHome) Close() error { return errors.Join(r.Store.Close(), r.client.Close()) }

var _ Confirmer = redisHome{}
