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
