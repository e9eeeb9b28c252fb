// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Settings configure a worker or a controller. [Default] and [Load] return
// valid settings; the zero value is not valid. [Keys] has the range of each.
type Settings struct {
	Server        Server
	Admin         Admin
	Storage       Storage
	Controller    Controller
	Sequence      Sequence
	Snowflake     Snowflake
	Auth          Auth
	Limits        Limits
	Observability Observability

	origins map[string]string // by key, where its value was set; none for a default
	notes   []string
}

// Server is the HTTP server.
type Server struct {
	Host string // address to listen at
	Port int    // 0: one that is free
	// Workers bounds the threads that run the program at once; 0: one for each CPU. More
	// than there are CPUs has no effect.
	Workers         int
	TLSCert, TLSKey string        // files in PEM; both or neither
	ShutdownTimeout time.Duration // for requests under way when the program ends
}

// Admin is the console and the endpoints for administrators.
type Admin struct {
	Enabled bool // whether there is a console
	// Listen is an address of their own, host:port, for the console and for the
	// endpoints that need the admin token. "": they are at the server's.
	Listen string
	// SecureCookie says that browsers reach the console by TLS, which a proxy ends: they send the
	// session's cookie by nothing else.
	SecureCookie bool
}

// Backends.
const (
	File         = "file"
	Redis        = "redis"
	MySQL        = "mysql"
	PostgreSQL   = "postgresql"
	Embedded     = "embedded"
	FoundationDB = "foundationdb"
)

// Storage is where sequences, configurations and tokens are kept.
type Storage struct {
	Backend      string // one of the constants above
	File         FileStorage
	Embedded     EmbeddedStorage
	FoundationDB FoundationDBStorage
	Redis        RedisStorage
	MySQL        SQLStorage
	Postgres     SQLStorage
}

// FileStorage is the store in JSON files.
type FileStorage struct {
	Path string // folder
}

// EmbeddedStorage is the embedded engine.
type EmbeddedStorage struct {
	Path string // folder
}

// FoundationDBStorage is a FoundationDB cluster.
type FoundationDBStorage struct {
	ClusterFile string // "": where FoundationDB's client looks by itself
}

// RedisStorage is a Redis server or cluster.
type RedisStorage struct {
	Mode           string // standalone or cluster
	URL            []URL  // of the server; of some nodes of a cluster
	PoolSize       int    // connections, for each node
	KeyPrefix      string
	ConnectTimeout time.Duration
	// Durable says that this Redis loses nothing that it has acknowledged: it has
	// appendonly yes and appendfsync always, and no failover.
	Durable bool
	// WaitReplicas is how many replicas must have a reservation before its numbers
	// are used.
	WaitReplicas int
	WaitTimeout  time.Duration // how long to wait for them
}

// SQLStorage is a MySQL or PostgreSQL server.
type SQLStorage struct {
	URL            URL
	MaxConnections int
	ConnectTimeout time.Duration
	CallTimeout    time.Duration
	// AcceptLoss uses a server that may lose what it has acknowledged when its
	// machine crashes. IDs may then come twice.
	AcceptLoss bool
}

// Controller is how a worker reaches controllers, and what controllers do.
type Controller struct {
	Endpoint          string // base URLs of the controllers, with commas between; "": there is none
	HeartbeatInterval time.Duration
	Required          bool // a worker without a lease from a controller is not ready
	// Token is what a worker shows to the controllers: the token of workers, or an admin token. "":
	// Auth.AdminToken.
	Token Secret
	// Address is the URL at which clients reach this worker; controllers give it to
	// them. "": made of the machine's name and the port.
	Address string
}

// Sequence is how numbers are reserved ahead.
type Sequence struct {
	DefaultBatchSize  int           // numbers that are reserved at once, for a key that is used little
	MaxBatchSize      int           // at most, for a key that is used much
	Target            time.Duration // how long the numbers that are reserved at once should last
	PrefetchThreshold Threshold     // what is left of them when the next ones are reserved
	Idle              time.Duration // after which the numbers of a key that is not used are dropped
}

// Snowflake is how worker ids are leased to clients.
type Snowflake struct {
	LeaseDuration time.Duration // to clients that ask again
	// Hold is how long the worker id of a client that never asks again, as the deployed
	// libraries do, is given to no other client.
	Hold time.Duration
	// Skew is how long a worker id stays unused after its lease has ended: for clients
	// with late clocks.
	Skew time.Duration
}

// Auth is how callers are authenticated.
type Auth struct {
	AdminToken Secret // "": a random one is made at the first start
	// AdminTokenFile is the file to which the first start writes that token, if the standard output is
	// not a terminal: others may read what goes there, as the log of a container.
	AdminTokenFile     string
	KeyTokenExpiration time.Duration
	// Cache is how long a worker uses the tokens and configurations that it has read
	// without asking the store whether they have changed.
	Cache time.Duration
	// Outage is how long a worker goes on with the tokens and configurations that it has read
	// while the store does not answer; 0: not at all.
	Outage time.Duration
}

// Limits bound what one client can ask for.
type Limits struct {
	RequestsPerSecond float64 // with one token; 0: any number
	Burst             int     // requests at once, over the rate; 0: as many as in a second
	RequestBytes      int     // size of a request's body
	RequestTimeout    time.Duration
}

// Observability configures logs and metrics.
type Observability struct {
	LogLevel  string // trace, debug, info, warn or error
	LogFormat string // json or pretty
	Metrics   Metrics
}

// Metrics are those for Prometheus.
type Metrics struct {
	Enabled bool
	Port    int    // of their own, besides the server's; 0: none
	Path    string // at both
	// Listen is an address of their own, host:port: then they are there alone, and Port has no
	// effect. "": they are at the server's address, and at Port.
	Listen string
	Token  Secret // that callers must show; "": none
}

// Address returns the address of their own; "": there is none.
func (m Metrics) Address(s Server) string {
	switch {
	case !m.Enabled:
		return ""
	case m.Listen != "":
		return m.Listen
	case m.Port != 0:
		return net.JoinHostPort(s.Host, strconv.Itoa(m.Port))
	}
	return ""
}

// Origin returns the place where the value of a key was set: file:line, a variable or a
// flag; "" if it has its default, or if a program set it.
func (s *Settings) Origin(path string) string {
	if k := known[path]; k != nil {
		path = k.path
	}
	return s.origins[path]
}

// Notes names the settings that have no effect, a line each.
func (s *Settings) Notes() []string { return s.notes }

// Show returns the value of a key as text, without passwords; "" for a key that
// has no effect or does not exist.
func (s *Settings) Show(path string) string {
	k := known[path]
	if k == nil || k.field == nil {
		return ""
	}
	switch v := k.fieldValue(s).(type) {
	case time.Duration:
		return brief(v)
	default:
		return fmt.Sprint(v)
	}
}

// Clustered reports whether Redis is a cluster: by its mode, or by several URLs.
func (r RedisStorage) Clustered() bool { return r.Mode == cluster || len(r.URL) > 1 }

// Modes of Redis.
const (
	standalone = "standalone"
	cluster    = "cluster"
)

// Validate reports all faults of the settings, as an [*Error]. See [Settings.ValidateWorker] for a worker's.
func (s *Settings) Validate() error { return asError(s.findFaults(nil)) }

// findFaults checks each setting alone, except the keys in bad, and those that
// depend on each other.
func (s *Settings) findFaults(bad map[string]bool) (found []Fault) {
	for i := range keys {
		k := &keys[i]
		if k.field == nil || bad[k.path] {
			continue
		}
		value := k.fieldValue(s)
		if err := k.kind.checkValue(value); err != nil {
			found = append(found, s.newFault(k.path, err.Error()))
			if bad == nil {
				bad = map[string]bool{}
			}
			bad[k.path] = true
		}
	}
	for _, check := range []func() (path, reason string){s.checkTLS, s.checkBackend, s.checkRedis, s.checkAdmin, s.checkPorts, s.checkBatches, s.checkLeases, s.checkCache} {
		if path, reason := check(); reason != "" && !bad[path] {
			found = append(found, s.newFault(path, reason))
		}
	}
	return found
}

// newFault returns a fault of the value of a key.
func (s *Settings) newFault(path, reason string) Fault {
	k, origin := known[path], s.origins[path]
	if origin == "" && show(k, k.fieldValue(s)) == show(k, k.fieldValue(Default())) {
		origin = "the default"
	}
	return Fault{Key: path, Value: show(k, k.fieldValue(s)), Origin: origin, Reason: reason}
}

func (s *Settings) checkTLS() (path, reason string) {
	switch {
	case s.Server.TLSCert != "" && s.Server.TLSKey == "":
		return "server.tls_key", "it is needed with server.tls_cert"
	case s.Server.TLSKey != "" && s.Server.TLSCert == "":
		return "server.tls_cert", "it is needed with server.tls_key"
	}
	return "", ""
}

// checkBackend reports a missing setting that the backend needs.
func (s *Settings) checkBackend() (path, reason string) {
	needed := map[string]struct{ value, path string }{
		File:       {s.Storage.File.Path, "storage.file.path"},
		Embedded:   {s.Storage.Embedded.Path, "storage.embedded.path"},
		MySQL:      {s.Storage.MySQL.URL.Reveal(), "storage.mysql.url"},
		PostgreSQL: {s.Storage.Postgres.URL.Reveal(), "storage.postgres.url"},
	}
	if n, ok := needed[s.Storage.Backend]; ok && n.value == "" {
		return n.path, fmt.Sprintf("the backend %s needs it", s.Storage.Backend)
	}
	if s.Storage.Backend == Redis && len(s.Storage.Redis.URL) == 0 {
		return "storage.redis.url", "the backend redis needs it, such as redis://127.0.0.1:6379/0"
	}
	return "", ""
}

func (s *Settings) checkRedis() (path, reason string) {
	if w := s.Storage.Redis.WaitTimeout; w%time.Millisecond != 0 {
		return "storage.redis.wait_timeout", "Redis counts whole milliseconds"
	}
	if len(s.Storage.Redis.URL) > 1 && s.Storage.Redis.Mode == standalone && s.origins["storage.redis.mode"] != "" {
		return "storage.redis.url", "with storage.redis.mode = \"standalone\" there is one URL"
	}
	return "", ""
}

// checkAdmin reports an admin address that has no effect.
func (s *Settings) checkAdmin() (path, reason string) {
	if s.Server.Port != 0 && s.Admin.Listen == fmt.Sprintf("%s:%d", s.Server.Host, s.Server.Port) {
		return "admin.listen", "this is the address of server.host and server.port: leave it empty, or give another one"
	}
	return "", ""
}

func (s *Settings) checkPorts() (path, reason string) {
	m := s.Observability.Metrics
	if at := net.JoinHostPort(s.Server.Host, strconv.Itoa(s.Server.Port)); s.Server.Port != 0 && m.Listen == at {
		return "observability.metrics.listen", "this is the address of server.host and server.port: leave it empty, or give another one"
	}
	if m.Enabled && m.Listen == "" && m.Port != 0 && m.Port == s.Server.Port {
		return "observability.metrics.port", "this is server.port: metrics are there anyway; give another port, or 0"
	}
	return "", ""
}

// checkBatches reports a maximum that was set to less than the default size.
func (s *Settings) checkBatches() (path, reason string) {
	if n := s.Sequence; n.MaxBatchSize < n.DefaultBatchSize && s.Origin("sequence.max_batch_size") != "" {
		return "sequence.max_batch_size", fmt.Sprintf("it is less than sequence.default_batch_size, which is %d", n.DefaultBatchSize)
	}
	return "", ""
}

func (s *Settings) checkLeases() (path, reason string) {
	if f := s.Snowflake; f.Hold < f.LeaseDuration+f.Skew {
		return "snowflake.hold", fmt.Sprintf("it is less than snowflake.lease_duration and snowflake.skew together, which are %s", brief(f.LeaseDuration+f.Skew))
	}
	return "", ""
}

// ValidateWorker reports what a worker lacks to register with controllers, as an [*Error]. Controllers and
// commands, which may have the same settings, do not need that.
func (s *Settings) ValidateWorker() error {
	var found []Fault
	for _, check := range []func() (path, reason string){s.checkToken, s.checkHost} {
		if path, reason := check(); reason != "" {
			found = append(found, s.newFault(path, reason))
		}
	}
	return asError(found)
}

// checkToken reports a missing token for the controllers. The stored admin token is a
// hash, which cannot be sent.
func (s *Settings) checkToken() (path, reason string) {
	if s.Controller.Endpoint != "" && s.Controller.Token == "" && s.Auth.AdminToken == "" {
		return "controller.token", "it is needed with controller.endpoint, or auth.admin_token: workers show it to controllers; idbuilder token worker makes one"
	}
	return "", ""
}

// checkHost reports a worker that controllers of other machines would recommend to clients that
// cannot reach it.
func (s *Settings) checkHost() (path, reason string) {
	if s.Controller.Address != "" || !isLoopback(s.Server.Host) {
		return "", ""
	}
	for one := range strings.SplitSeq(s.Controller.Endpoint, ",") {
		if u, err := url.Parse(strings.TrimSpace(one)); err == nil && u.Host != "" && !isLoopback(u.Hostname()) {
			return "server.host", "only this machine reaches it, and controller.endpoint is on another one: give an address that clients reach, such as 0.0.0.0, or set controller.address to that of a proxy"
		}
	}
	return "", ""
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// checkCache reports a cache because of which changes of tokens and configurations, which wait
// until it is out of date everywhere, could not end in time.
func (s *Settings) checkCache() (path, reason string) {
	if limit := s.Limits.RequestTimeout; s.Auth.Cache > limit/2 {
		return "auth.cache", fmt.Sprintf("changes of tokens and configurations take as long: allowed is half of limits.request_timeout, which is %s, at most", brief(limit))
	}
	return "", ""
}
