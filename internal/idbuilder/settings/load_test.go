// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
)

// row is a row of the specification's table.
type row struct {
	path     string
	field    func(*settings.Settings) any
	standard any    // the default
	toml     string // another value, in TOML
	text     string // the same in the environment
	want     any
	wrong    []string // values in TOML that are refused
}

// specified is the specification's table of the configuration.
var specified = []row{
	{"server.host", func(s *settings.Settings) any { return s.Server.Host }, "127.0.0.1", `"0.0.0.0"`, "0.0.0.0", "0.0.0.0", []string{`1`, `true`}},
	{"server.port", func(s *settings.Settings) any { return s.Server.Port }, 8080, `9000`, "9000", 9000, []string{`65536`, `-1`, `"9000"`, `90.5`}},
	{"server.workers", func(s *settings.Settings) any { return s.Server.Workers }, 4, `2`, "2", 2, []string{`-1`, `"two"`}},
	{"storage.backend", func(s *settings.Settings) any { return s.Storage.Backend }, "embedded", `"file"`, "file", "file", []string{`"etcd"`, `""`, `"postgres=postgresql"`}},
	{"storage.file.path", func(s *settings.Settings) any { return s.Storage.File.Path }, "./data", `"/var/lib/ids"`, "/var/lib/ids", "/var/lib/ids", []string{`[]`}},
	{"storage.redis.mode", func(s *settings.Settings) any { return s.Storage.Redis.Mode }, "standalone", `"cluster"`, "cluster", "cluster", []string{`"sentinel"`}},
	{"storage.redis.url", func(s *settings.Settings) any { return s.Storage.Redis.URL }, []settings.URL(nil), `"redis://r:6379/0"`, "redis://r:6379/0", []settings.URL{"redis://r:6379/0"}, []string{`"r:6379"`, `"http://r"`, `"redis://"`, `6379`}},
	{"storage.redis.pool_size", func(s *settings.Settings) any { return s.Storage.Redis.PoolSize }, 10, `20`, "20", 20, []string{`0`, `10001`}},
	{"storage.redis.key_prefix", func(s *settings.Settings) any { return s.Storage.Redis.KeyPrefix }, "idbuilder", `"ids"`, "ids", "ids", []string{`3`}},
	{"storage.mysql.url", func(s *settings.Settings) any { return s.Storage.MySQL.URL }, settings.URL(""), `"mysql://u@h/db"`, "mysql://u@h/db", settings.URL("mysql://u@h/db"), []string{`"postgres://h/db"`, `["mysql://h/db"]`}},
	{"storage.mysql.max_connections", func(s *settings.Settings) any { return s.Storage.MySQL.MaxConnections }, 10, `5`, "5", 5, []string{`0`, `"5"`}},
	{"storage.postgres.url", func(s *settings.Settings) any { return s.Storage.Postgres.URL }, settings.URL(""), `"postgresql://u@h/db"`, "postgresql://u@h/db", settings.URL("postgresql://u@h/db"), []string{`"mysql://h/db"`}},
	{"storage.postgres.max_connections", func(s *settings.Settings) any { return s.Storage.Postgres.MaxConnections }, 10, `5`, "5", 5, []string{`0`, `-3`}},
	{"controller.endpoint", func(s *settings.Settings) any { return s.Controller.Endpoint }, "", `"http://c:8090"`, "http://c:8090", "http://c:8090", []string{`"c:8090"`, `"ftp://c"`, `"http://u:p@c"`}},
	{"controller.heartbeat_interval", func(s *settings.Settings) any { return s.Controller.HeartbeatInterval }, 10 * time.Second, `30`, "30", 30 * time.Second, []string{`0`, `"soon"`, `true`}},
	{"sequence.default_batch_size", func(s *settings.Settings) any { return s.Sequence.DefaultBatchSize }, 1000, `50`, "50", 50, []string{`0`, `-1`, `1000000001`}},
	{"sequence.prefetch_threshold", func(s *settings.Settings) any { return s.Sequence.PrefetchThreshold }, settings.Threshold{Fraction: 0.2}, `0.5`, "0.5", settings.Threshold{Fraction: 0.5}, []string{`1.5`, `-0.1`, `-1`, `nan`, `"half"`}},
	{"observability.log_level", func(s *settings.Settings) any { return s.Observability.LogLevel }, "info", `"debug"`, "debug", "debug", []string{`"loud"`, `"INFO"`}},
	{"observability.log_format", func(s *settings.Settings) any { return s.Observability.LogFormat }, "json", `"pretty"`, "pretty", "pretty", []string{`"xml"`}},
	{"observability.metrics.enabled", func(s *settings.Settings) any { return s.Observability.Metrics.Enabled }, true, `false`, "false", false, []string{`"no"`, `0`}},
	{"observability.metrics.port", func(s *settings.Settings) any { return s.Observability.Metrics.Port }, 9091, `9100`, "9100", 9100, []string{`65536`, `"9100"`}},
}

// TestSpecified sets each key of the specification's table in each of the three
// sources.
func TestSpecified(t *testing.T) {
	for _, r := range specified {
		t.Run(r.path, func(t *testing.T) {
			if got := r.field(settings.Default()); !reflect.DeepEqual(got, r.standard) {
				t.Errorf("the default is %#v, want %#v", got, r.standard)
			}
			section, name := split(r.path)
			file := write(t, fmt.Sprintf("[%s]\n%s = %s\n", section, name, r.toml))
			variable := "IDBUILDER__" + strings.ToUpper(strings.ReplaceAll(r.path, ".", "__"))
			for origin, from := range map[string]settings.Sources{
				file + ":2":   {File: file},
				variable:      {Environment: []string{variable + "=" + r.text}},
				"--" + r.path: {Flags: map[string]string{r.path: r.text}},
				strings.Replace(variable, "IDBUILDER", "IDBUILDER_WORKER", 1): {Environment: []string{strings.Replace(variable, "IDBUILDER", "IDBUILDER_WORKER", 1) + "=" + r.text}},
			} {
				from.Environment = append(from.Environment, "IDBUILDER__AUTH__ADMIN_TOKEN=0123456789abcdef") // for controllers
				s, err := settings.Load(from)
				if err != nil {
					t.Fatalf("from %s: %v", origin, err)
				}
				if got := r.field(s); !reflect.DeepEqual(got, r.want) {
					t.Errorf("from %s: %#v, want %#v", origin, got, r.want)
				}
				if s.Origin(r.path) != origin {
					t.Errorf("it was set at %q, want %q", s.Origin(r.path), origin)
				}
			}
			for _, wrong := range r.wrong {
				file := write(t, fmt.Sprintf("\n[%s]\n%s = %s\n", section, name, wrong))
				faults := load(t, settings.Sources{File: file, Environment: []string{"IDBUILDER__AUTH__ADMIN_TOKEN=0123456789abcdef"}})
				if len(faults) != 1 || faults[0].Key != r.path || faults[0].Origin != file+":3" || faults[0].Reason == "" {
					t.Errorf("%s: %+v, want one fault at line 3", wrong, faults)
				}
			}
		})
	}
}

// TestDeployed reads the names that the deployed worker has.
func TestDeployed(t *testing.T) {
	file := write(t, `
[server]
host = "0.0.0.0"
port = 8080
workers = 0
[storage]
backend = "redis"
[storage.file]
data_dir = "/var/lib/ids"
[storage.redis]
urls = ["redis://a:6379", "redis://b:6379"]
pool_size = 10
connect_timeout = 5
[storage.mysql]
url = "mysql://root:password@127.0.0.1:3306/idbuilder"
min_connections = 5
max_connections = 20
connect_timeout = 5
[storage.postgresql]
url = "postgresql://postgres:password@127.0.0.1:5432/idbuilder"
min_connections = 5
max_connections = 20
connect_timeout = 7
[controller]
endpoint = ""
heartbeat_interval = 30
[sequence]
default_batch_size = 1000
prefetch_threshold = 100
[auth]
admin_token = "a-token-of-their-own"
key_token_expiration = 2592000
[observability]
log_level = "info"
log_format = "text"
metrics_enabled = false
metrics_path = "/m"
[admin]
enabled = false
path = "./static"
`)
	s, err := settings.Load(settings.Sources{File: file, Environment: []string{"IDBUILDER_WORKER__SERVER__PORT=8081", "IDBUILDER_PROFILE=production", "HOME=/"}})
	if err != nil {
		t.Fatal(err)
	}
	want := settings.Default()
	want.Server.Host, want.Server.Workers, want.Server.Port = "0.0.0.0", 0, 8081
	want.Storage.Backend, want.Storage.File.Path = settings.Redis, "/var/lib/ids"
	want.Storage.Redis.URL = []settings.URL{"redis://a:6379", "redis://b:6379"}
	want.Storage.MySQL = settings.SQLStorage{URL: "mysql://root:password@127.0.0.1:3306/idbuilder", MaxConnections: 20, ConnectTimeout: 5 * time.Second, CallTimeout: 10 * time.Second}
	want.Storage.Postgres = settings.SQLStorage{URL: "postgresql://postgres:password@127.0.0.1:5432/idbuilder", MaxConnections: 20, ConnectTimeout: 7 * time.Second, CallTimeout: 10 * time.Second}
	want.Controller.HeartbeatInterval = 30 * time.Second
	want.Sequence.PrefetchThreshold = settings.Threshold{Count: 100}
	want.Auth.AdminToken, want.Auth.KeyTokenExpiration = "a-token-of-their-own", 30*24*time.Hour
	want.Observability = settings.Observability{LogLevel: "info", LogFormat: "pretty", Metrics: settings.Metrics{Port: 9091, Path: "/m"}}
	want.Admin.Enabled = false
	for _, k := range settings.Keys() {
		if got, want := settings.Value(s, k.Path), settings.Value(want, k.Path); !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %#v, want %#v", k.Path, got, want)
		}
	}
	if !s.Storage.Redis.Clustered() {
		t.Error("two URLs of Redis are no cluster")
	}
	if f := s.Sequence.PrefetchThreshold.Of(1000); f != 0.1 {
		t.Errorf("100 of 1000 are %v", f)
	}
	if notes := s.Notes(); len(notes) != 3 || !strings.HasPrefix(notes[0], "admin.path ("+file+":") {
		t.Errorf("notes %q, want admin.path and two of min_connections", notes)
	}
}

// TestPrecedence sets one key in all sources: flags outrank the environment,
// which outranks the file.
func TestPrecedence(t *testing.T) {
	file := write(t, "[server]\nport = 1\nworkers = 1\nhost = \"file\"\n")
	s, err := settings.Load(settings.Sources{
		File:        file,
		Environment: []string{"IDBUILDER__SERVER__PORT=2", "IDBUILDER__SERVER__WORKERS=2"},
		Flags:       map[string]string{"server.port": "3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Server.Port != 3 || s.Server.Workers != 2 || s.Server.Host != "file" {
		t.Errorf("%+v", s.Server)
	}
}

// TestUnknown: the error for a key that does not exist names the nearest one.
func TestUnknown(t *testing.T) {
	file := write(t, "prot = 1\nredis.poolsize = 1\n[server]\nprot = 1\n[storage.redis]\npoolsize = 3\n[strange.section]\nx.y = 1\n[[server.hosts]]\na = 1\n")
	faults := load(t, settings.Sources{
		File:        file,
		Environment: []string{"IDBUILDER__SERVER__PROT=1", "IDBUILDER_WORKER__STORAGE__POSTGRESQL__ULR=x", "IDBUILDER__=1"},
		Flags:       map[string]string{"observability.loglevel": "info"},
	})
	want := []string{
		"prot (" + file + ":1): there is no such key; did you mean server.port?",
		"redis.poolsize (" + file + ":2): there is no such key; did you mean storage.redis.pool_size?",
		"server.hosts (" + file + ":9): there is no such key; did you mean server.host?",
		"server.prot (" + file + ":4): there is no such key; did you mean server.port?",
		"storage.redis.poolsize (" + file + ":6): there is no such key; did you mean storage.redis.pool_size?",
		"strange.section.x.y (" + file + ":8): there is no such key; did you mean ",
		"IDBUILDER_WORKER__STORAGE__POSTGRESQL__ULR: there is no such key; did you mean IDBUILDER_WORKER__STORAGE__POSTGRESQL__URL?",
		"IDBUILDER__: there is no such key; did you mean IDBUILDER__",
		"IDBUILDER__SERVER__PROT: there is no such key; did you mean IDBUILDER__SERVER__PORT?",
		"--observability.loglevel: there is no such key; did you mean --observability.log_level?",
	}
	compare(t, faults, want)
}

// TestContradictions sets keys and their aliases to different values.
func TestContradictions(t *testing.T) {
	file := write(t, "[storage.file]\npath = \"a\"\ndata_dir = \"b\"\n[observability]\nmetrics_path = \"/m\"\n[observability.metrics]\npath = \"/m\"\n")
	compare(t, load(t, settings.Sources{
		File:        file,
		Environment: []string{"IDBUILDER__SERVER__PORT=1", "IDBUILDER_WORKER__SERVER__PORT=2"},
	}), []string{
		`storage.file.path = "a" (` + file + `:2): storage.file.data_dir = "b" (` + file + `:3) is the same setting with another value`,
		`server.port = 1 (IDBUILDER__SERVER__PORT): server.port = 2 (IDBUILDER_WORKER__SERVER__PORT) is the same setting with another value`,
	})
	// the environment outranks the file, whatever the name
	s, err := settings.Load(settings.Sources{File: write(t, "[storage.file]\npath = \"a\"\n"), Environment: []string{"IDBUILDER__STORAGE__FILE__DATA_DIR=b"}})
	if err != nil || s.Storage.File.Path != "b" {
		t.Errorf("%v, %v", s, err)
	}
}

// TestAllFaults: the error has all faults.
func TestAllFaults(t *testing.T) {
	file := write(t, "[server]\nport = 70000\ntls_cert = \"c.pem\"\n[storage]\nbackend = \"redis\"\n")
	compare(t, load(t, settings.Sources{File: file, Environment: []string{"IDBUILDER__SERVER__WORKERS=many"}, Flags: map[string]string{"sequence.default_batch_size": "0"}}), []string{
		"server.workers = many (IDBUILDER__SERVER__WORKERS): it must be a whole number",
		"server.port = 70000 (" + file + ":2): allowed are 0 to 65535",
		"sequence.default_batch_size = 0 (--sequence.default_batch_size): allowed are 1 to 1000000000",
		`server.tls_key = "" (the default): it is needed with server.tls_cert`,
		"storage.redis.url = [] (the default): the backend redis needs it, such as redis://127.0.0.1:6379/0",
	})
}

// TestTogether loads settings that contradict each other.
func TestTogether(t *testing.T) {
	for toml, want := range map[string]string{
		"[server]\ntls_key = \"k\"":                                                            "server.tls_cert",
		"[storage]\nbackend = \"mysql\"":                                                       "storage.mysql.url",
		"[storage]\nbackend = \"postgres\"":                                                    "storage.postgres.url",
		"[storage]\nbackend = \"file\"\nfile.path = \"\"":                                      "storage.file.path",
		"[storage.redis]\nmode = \"standalone\"\nurl = \"redis://a, redis://b\"":               "storage.redis.url",
		"[admin]\nlisten = \"127.0.0.1:8080\"":                                                 "admin.listen",
		"[admin]\nlisten = \"8081\"":                                                           "admin.listen",
		"[observability.metrics]\nport = 8080":                                                 "observability.metrics.port",
		"[observability.metrics]\npath = \"metrics\"":                                          "observability.metrics.path",
		"[auth]\nadmin_token = \"short\"":                                                      "auth.admin_token",
		"[auth]\nadmin_token = \"admin_change_me_in_production\"":                              "auth.admin_token",
		"[limits]\nrequests_per_second = inf\n":                                                "limits.requests_per_second",
		"[auth]\nkey_token_expiration = 1e300\n":                                               "auth.key_token_expiration",
		"[storage.redis]\nurl = [\"redis://a\", 3]":                                            "storage.redis.url",
		"[storage.redis]\nurl = \"redis://:p@ss/word@host\"\n[server]\ntls_key = \"\"":         "storage.redis.url",
		"[storage]\nbackend = \"embedded\"\n[storage.embedded]\npath = \"\"":                   "storage.embedded.path",
		"[snowflake]\nlease_duration = \"1ms\"":                                                "snowflake.lease_duration",
		"[snowflake]\nhold = \"10m\"":                                                          "snowflake.hold",
		"[sequence]\nmax_batch_size = 999":                                                     "sequence.max_batch_size",
		"[auth]\ncache = \"16s\"":                                                              "auth.cache",
		"[limits]\nrequest_timeout = \"1500ms\"":                                               "auth.cache",
		"[server.port]\na = 1":                                                                 "server.port",
		"[server]\nshutdown_timeout = \"-1s\"":                                                 "server.shutdown_timeout",
		"[sequence]\nprefetch_threshold = 1000000001":                                          "sequence.prefetch_threshold",
		"[storage.redis]\nurl = [\n\"redis://a\",\n\"http://b\"\n]\nmode = \"cluster\"\n# end": "storage.redis.url",
	} {
		faults := load(t, settings.Sources{File: write(t, toml)})
		if len(faults) != 1 || faults[0].Key != want {
			t.Errorf("%s:\n%v, want a fault of %s", toml, faults, want)
		}
	}
}

// TestWorkerFaults: a worker needs a token for controllers, and an address that clients of other machines
// reach if the controllers are on other machines. Other programs load the same settings without them.
func TestWorkerFaults(t *testing.T) {
	const token = "\ntoken = \"only-for-this-test\""
	for toml, want := range map[string]string{
		"[controller]\nendpoint = \"http://127.0.0.1:8090\"":                                         "controller.token",
		"[controller]\nendpoint = \"http://127.0.0.1:8090, http://LOCALHOST, http://[::1]\"" + token: "",
		"[controller]\nendpoint = \"http://127.0.0.1:8090, http://c:8090\"" + token:                  "server.host",
		"[controller]\nendpoint = \"https://c\"" + token + "\n[server]\nhost = \"::1\"":              "server.host",
		"[controller]\nendpoint = \"http://c\"" + token + "\n[server]\nhost = \"0.0.0.0\"":           "",
		"[controller]\nendpoint = \"http://c\"" + token + "\naddress = \"https://ids.example.com\"":  "",
		"": "",
	} {
		s, err := settings.Load(settings.Sources{File: write(t, toml)})
		if err != nil {
			t.Fatal(err)
		}
		var faults *settings.Error
		if errors.As(s.ValidateWorker(), &faults); (faults == nil) != (want == "") || faults != nil && (len(faults.Faults) != 1 || faults.Faults[0].Key != want) {
			t.Errorf("%s:\n%v, want a fault of %q", toml, s.ValidateWorker(), want)
		}
	}
}

// TestFileFaults loads files that cannot be read.
func TestFileFaults(t *testing.T) {
	for toml, want := range map[string]string{
		"[server]\nport = = 1":                                      ":2",
		"[server]\nport = 1\nport = 2":                              ":3",
		"[server\nport = 1":                                         ":2: ",
		"[auth]\nadmin_token = tops3cret-tops3cret":                 ":2",
		"[storage.redis]\nurl = redis://u:tops3cret@h":              ":2",
		"[storage.redis]\n\nurl = \"redis://u:tops3cret@h\nx = 1\n": ":3",
	} {
		file := write(t, toml)
		_, err := settings.Load(settings.Sources{File: file})
		if err == nil || !strings.Contains(err.Error(), file+want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %s%s and no secret", toml, err, file, want)
		}
	}
	if _, err := settings.Load(settings.Sources{File: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := settings.Load(settings.Sources{File: write(t, strings.Repeat("#\n", 40_000))}); err == nil {
		t.Error("a file of 80,000 bytes is read")
	}
}

func split(path string) (section, name string) {
	i := strings.LastIndexByte(path, '.')
	return path[:i], path[i+1:]
}

// write returns a file with a text.
func write(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "c.toml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// load returns the faults of sources, of which there must be some.
func load(t *testing.T, from settings.Sources) []settings.Fault {
	t.Helper()
	_, err := settings.Load(from)
	var faults *settings.Error
	if !errors.As(err, &faults) {
		t.Errorf("%v, want faults", err)
		return nil
	}
	return faults.Faults
}

// compare checks that the faults begin with some texts, in any order.
func compare(t *testing.T, faults []settings.Fault, want []string) {
	t.Helper()
	for _, f := range faults {
		found := false
		for i, w := range want {
			if strings.HasPrefix(f.String(), w) {
				want, found = append(want[:i:i], want[i+1:]...), true
				break
			}
		}
		if !found {
			t.Errorf("unexpected: %s", f)
		}
	}
	for _, w := range want {
		t.Errorf("missing: %s", w)
	}
}
