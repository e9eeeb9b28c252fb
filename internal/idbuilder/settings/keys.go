// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/nearest"
)

// Key describes one setting.
type Key struct {
	Path    string   // such as storage.redis.pool_size
	Aliases []string // other paths of the same setting
	Default string   // "" if there is none
	Allowed string   // the range or the words
	About   string   // what it is, in a few words
	Secret  bool     // whether values can hold a password: flags are refused
}

// Keys returns all keys, in the order of their sections.
func Keys() []Key {
	list := make([]Key, len(keys))
	for i, k := range keys {
		list[i] = Key{Path: k.path, Aliases: slices.Clone(k.aliases), Default: k.standard, Allowed: k.kind.describeAllowed(), About: k.about, Secret: isHider(&k)}
	}
	return list
}

// key is one setting: its name, what is allowed, and the field that it sets.
type key struct {
	path     string
	aliases  []string
	standard string // the default
	kind     kind
	field    func(*Settings) any // a pointer to the field
	about    string
}

const (
	day      = 24 * time.Hour
	mebibyte = 1 << 20
)

// also returns the aliases of a key.
func also(paths ...string) []string { return paths }

var keys = []key{
	{"server.host", nil, "127.0.0.1", text{}, func(s *Settings) any { return &s.Server.Host }, "address to listen at: of this machine alone, or 0.0.0.0 for all addresses of the machine"},
	{"server.port", nil, "8080", integer{0, 65535}, func(s *Settings) any { return &s.Server.Port }, "port; 0: a free one"},
	{"server.workers", nil, "4", integer{0, 4096}, func(s *Settings) any { return &s.Server.Workers }, "most threads that run at once; 0: one for each CPU"},
	{"server.tls_cert", nil, "", text{}, func(s *Settings) any { return &s.Server.TLSCert }, "file with the certificate chain; with server.tls_key the server uses HTTPS"},
	{"server.tls_key", nil, "", text{}, func(s *Settings) any { return &s.Server.TLSKey }, "file with the certificate's key"},
	{"server.shutdown_timeout", nil, "20s", span{0, time.Hour}, func(s *Settings) any { return &s.Server.ShutdownTimeout }, "most time for running requests when the program ends"},

	{"admin.enabled", nil, "true", boolean{}, func(s *Settings) any { return &s.Admin.Enabled }, "whether the server has a console, at /admin/"},
	{"admin.listen", nil, "", address{}, func(s *Settings) any { return &s.Admin.Listen }, "separate address for the console and the endpoints of administrators"},
	{"admin.secure_cookie", nil, "false", boolean{}, func(s *Settings) any { return &s.Admin.SecureCookie }, "mark the cookie of the console Secure: a proxy ends TLS, and does not send X-Forwarded-Proto"},
	{"admin.path", nil, "", ignoredKey{"the console is part of the program"}, nil, "not used: the console is part of the program"},

	{"storage.backend", nil, Embedded, choice{File, Redis, MySQL, PostgreSQL, Embedded, FoundationDB, "postgres=" + PostgreSQL, "mariadb=" + MySQL}, func(s *Settings) any { return &s.Storage.Backend }, "kind of store"},
	{"storage.file.path", also("storage.file.data_dir"), "./data", text{}, func(s *Settings) any { return &s.Storage.File.Path }, "folder of the JSON files"},
	{"storage.embedded.path", nil, "./idbuilder-data", text{}, func(s *Settings) any { return &s.Storage.Embedded.Path }, "folder of the embedded engine"},
	{"storage.foundationdb.cluster_file", nil, "", text{}, func(s *Settings) any { return &s.Storage.FoundationDB.ClusterFile }, "cluster file; empty: the one that FoundationDB's client finds"},
	{"storage.redis.mode", nil, standalone, choice{standalone, cluster}, func(s *Settings) any { return &s.Storage.Redis.Mode }, "without a mode several URLs mean cluster"},
	{"storage.redis.url", also("storage.redis.urls"), "", urls{"redis", "rediss"}, func(s *Settings) any { return &s.Storage.Redis.URL }, "URL of the server, or URLs of some nodes of a cluster"},
	{"storage.redis.pool_size", nil, "10", integer{1, 10000}, func(s *Settings) any { return &s.Storage.Redis.PoolSize }, "number of connections"},
	{"storage.redis.key_prefix", nil, "idbuilder", text{}, func(s *Settings) any { return &s.Storage.Redis.KeyPrefix }, "prefix of all keys"},
	{"storage.redis.connect_timeout", nil, "5s", span{time.Millisecond, time.Hour}, func(s *Settings) any { return &s.Storage.Redis.ConnectTimeout }, "most time for a new connection"},
	{"storage.redis.durable", nil, "false", boolean{}, func(s *Settings) any { return &s.Storage.Redis.Durable }, "this Redis syncs each write (appendfsync always) and has no failover: a restart needs no confirmation"},
	{"storage.redis.wait_replicas", nil, "0", integer{0, 100}, func(s *Settings) any { return &s.Storage.Redis.WaitReplicas }, "replicas that must have a reservation before it is used"},
	{"storage.redis.wait_timeout", nil, "1s", span{time.Millisecond, time.Hour}, func(s *Settings) any { return &s.Storage.Redis.WaitTimeout }, "most time to wait for replicas"},
	{"storage.mysql.url", nil, "", urls{"mysql"}, func(s *Settings) any { return &s.Storage.MySQL.URL }, "URL of the server and database"},
	{"storage.mysql.max_connections", nil, "10", integer{1, 10000}, func(s *Settings) any { return &s.Storage.MySQL.MaxConnections }, "most connections"},
	{"storage.mysql.min_connections", nil, "", ignoredKey{"connections are opened when they are needed"}, nil, "not used: connections are opened when they are needed"},
	{"storage.mysql.connect_timeout", nil, "5s", span{time.Millisecond, time.Hour}, func(s *Settings) any { return &s.Storage.MySQL.ConnectTimeout }, "most time for a new connection"},
	{"storage.mysql.call_timeout", nil, "10s", span{time.Millisecond, time.Hour}, func(s *Settings) any { return &s.Storage.MySQL.CallTimeout }, "most time for a call of the server"},
	{"storage.mysql.accept_loss", nil, "false", boolean{}, func(s *Settings) any { return &s.Storage.MySQL.AcceptLoss }, "use a server that may lose data in a crash; IDs may then repeat"},
	{"storage.postgres.url", also("storage.postgresql.url"), "", urls{"postgresql", "postgres"}, func(s *Settings) any { return &s.Storage.Postgres.URL }, "URL of the server and database"},
	{"storage.postgres.max_connections", also("storage.postgresql.max_connections"), "10", integer{1, 10000}, func(s *Settings) any { return &s.Storage.Postgres.MaxConnections }, "most connections"},
	{"storage.postgres.min_connections", also("storage.postgresql.min_connections"), "", ignoredKey{"connections are opened when they are needed"}, nil, "not used: connections are opened when they are needed"},
	{"storage.postgres.connect_timeout", also("storage.postgresql.connect_timeout"), "5s", span{time.Millisecond, time.Hour}, func(s *Settings) any { return &s.Storage.Postgres.ConnectTimeout }, "most time for a new connection"},
	{"storage.postgres.call_timeout", also("storage.postgresql.call_timeout"), "10s", span{time.Millisecond, time.Hour}, func(s *Settings) any { return &s.Storage.Postgres.CallTimeout }, "most time for a call of the server"},
	{"storage.postgres.accept_loss", also("storage.postgresql.accept_loss"), "false", boolean{}, func(s *Settings) any { return &s.Storage.Postgres.AcceptLoss }, "use a server that may lose data in a crash; IDs may then repeat"},

	{"controller.endpoint", nil, "", endpoint{}, func(s *Settings) any { return &s.Controller.Endpoint }, "URL of the controller, or several with commas between; empty: no controller"},
	{"controller.heartbeat_interval", nil, "10s", span{100 * time.Millisecond, time.Hour}, func(s *Settings) any { return &s.Controller.HeartbeatInterval }, "time between two heartbeats of a worker"},
	{"controller.required", nil, "false", boolean{}, func(s *Settings) any { return &s.Controller.Required }, "whether /ready of a worker fails when it has lost all controllers for longer than its lease"},
	{"controller.token", nil, "", secret{}, func(s *Settings) any { return &s.Controller.Token }, "token that a worker sends to controllers: that of idbuilder token worker, or an admin token; empty: auth.admin_token"},
	{"controller.address", nil, "", endpoint{}, func(s *Settings) any { return &s.Controller.Address }, "URL at which clients reach this worker; empty: the machine's name and the port"},

	{"sequence.default_batch_size", nil, "1000", integer{1, 1_000_000_000}, func(s *Settings) any { return &s.Sequence.DefaultBatchSize }, "size of the first reservation of a sequence"},
	{"sequence.max_batch_size", nil, "10000000", integer{1, 1_000_000_000}, func(s *Settings) any { return &s.Sequence.MaxBatchSize }, "largest size of a reservation"},
	{"sequence.target", nil, "10s", span{time.Millisecond, day}, func(s *Settings) any { return &s.Sequence.Target }, "how long a reservation should last at the present rate of use"},
	{"sequence.idle", nil, "10m", span{time.Second, 365 * day}, func(s *Settings) any { return &s.Sequence.Idle }, "time without use after which a worker drops the numbers of a key"},
	{"sequence.prefetch_threshold", nil, "0.2", remainder{}, func(s *Settings) any { return &s.Sequence.PrefetchThreshold }, "numbers of a reservation that are left when the next is made: a fraction, or a count"},

	{"snowflake.lease_duration", nil, "10m", span{time.Second, 12 * time.Hour}, func(s *Settings) any { return &s.Snowflake.LeaseDuration }, "how long a client that asks again has a worker id"},
	{"snowflake.hold", nil, "24h", span{time.Second, 31 * day}, func(s *Settings) any { return &s.Snowflake.Hold }, "how long a client that never asks again has a worker id"},
	{"snowflake.skew", nil, "1m", span{0, time.Hour}, func(s *Settings) any { return &s.Snowflake.Skew }, "how long a worker id stays unused after a lease"},

	{"auth.admin_token", nil, "", secret{}, func(s *Settings) any { return &s.Auth.AdminToken }, "admin token; empty: the first start makes a random one"},
	{"auth.admin_token_file", nil, "./idbuilder-admin-token", text{}, func(s *Settings) any { return &s.Auth.AdminTokenFile }, "file to which the first start writes the admin token that it makes, if its output is not a terminal"},
	{"auth.key_token_expiration", nil, "720h", span{time.Second, 36500 * day}, func(s *Settings) any { return &s.Auth.KeyTokenExpiration }, "how long key tokens are valid"},
	{"auth.cache", nil, "1s", span{10 * time.Millisecond, time.Minute}, func(s *Settings) any { return &s.Auth.Cache }, "how long a worker uses tokens and configurations without asking the store; a change takes as long, so at most half of limits.request_timeout"},
	{"auth.outage", nil, "5m", span{0, day}, func(s *Settings) any { return &s.Auth.Outage }, "how long a worker continues to use tokens and configurations that it knows while the store does not answer; 0: not at all"},

	{"limits.requests_per_second", nil, "0", number{0, 1e9}, func(s *Settings) any { return &s.Limits.RequestsPerSecond }, "most requests a second with one token; 0: no limit"},
	{"limits.burst", nil, "0", integer{0, 1_000_000_000}, func(s *Settings) any { return &s.Limits.Burst }, "requests at once above that rate; 0: those of a second"},
	{"limits.request_bytes", nil, "65536", integer{1024, 64 * mebibyte}, func(s *Settings) any { return &s.Limits.RequestBytes }, "largest body of a request"},
	{"limits.request_timeout", nil, "30s", span{time.Millisecond, time.Hour}, func(s *Settings) any { return &s.Limits.RequestTimeout }, "most time for a request"},

	{"observability.log_level", nil, "info", choice{"trace", "debug", "info", "warn", "error"}, func(s *Settings) any { return &s.Observability.LogLevel }, "lowest level that is logged"},
	{"observability.log_format", nil, "json", choice{"json", "pretty", "text=pretty"}, func(s *Settings) any { return &s.Observability.LogFormat }, "text means pretty"},
	{"observability.metrics.enabled", also("observability.metrics_enabled"), "true", boolean{}, func(s *Settings) any { return &s.Observability.Metrics.Enabled }, "metrics for Prometheus"},
	{"observability.metrics.port", nil, "9091", integer{0, 65535}, func(s *Settings) any { return &s.Observability.Metrics.Port }, "separate port for metrics, which the server's port has, too; 0: none"},
	{"observability.metrics.listen", nil, "", address{}, func(s *Settings) any { return &s.Observability.Metrics.Listen }, "separate address for metrics, which then are there alone"},
	{"observability.metrics.token", nil, "", secret{}, func(s *Settings) any { return &s.Observability.Metrics.Token }, "token that a request for metrics must have: Authorization: Bearer TOKEN; empty: none"},
	{"observability.metrics.path", also("observability.metrics_path"), "/metrics", path{}, func(s *Settings) any { return &s.Observability.Metrics.Path }, "path of metrics at both ports"},
}

// known has each key by its path and its aliases.
var known = func() map[string]*key {
	byPath := map[string]*key{}
	for i := range keys {
		for _, p := range append([]string{keys[i].path}, keys[i].aliases...) {
			byPath[p] = &keys[i]
		}
	}
	return byPath
}()

// paths are all names of keys, aliases last.
var paths = func() (all []string) {
	for _, k := range keys {
		all = append(all, k.path)
	}
	for _, k := range keys {
		all = append(all, k.aliases...)
	}
	return all
}()

// nearestTo returns the path nearest to a mistyped one, which may lack sections.
func nearestTo(mistyped string) string {
	word, _ := nearest.Word(mistyped, endings)
	return endingOf[word]
}

// endings are the paths, and after them what is left of each without its first
// sections; endingOf has the paths that end so.
var endings, endingOf = func() (words []string, of map[string]string) {
	of = map[string]string{}
	for rest, depth := paths, 0; depth < 3; depth++ {
		for i, p := range rest {
			if _, found := of[p]; p != "" && !found {
				words = append(words, p)
				of[p] = paths[i]
			}
		}
		rest = withoutSections(rest)
	}
	return words, of
}()

func withoutSections(paths []string) []string {
	shorter := make([]string, len(paths))
	for i, p := range paths {
		_, shorter[i], _ = strings.Cut(p, ".")
	}
	return shorter
}

// setField sets the field of a key.
func (k *key) setField(s *Settings, value any) {
	reflect.ValueOf(k.field(s)).Elem().Set(reflect.ValueOf(value))
}

// fieldValue returns the value of the field of a key.
func (k *key) fieldValue(s *Settings) any { return reflect.ValueOf(k.field(s)).Elem().Interface() }
