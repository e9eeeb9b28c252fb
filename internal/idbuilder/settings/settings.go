// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"net"
	"strconv"
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
	// whose clocks are behind.
	Skew time.Duration
}

// Auth is how callers are authenticated.
type Auth struct {
	AdminToken Secret // "": a random one is made at the first start
	// AdminTokenFile is the file to which the first start writes that token, if the standard output is
	// no terminal: others may read what goes there, as the log of a container.
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
