// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell/shelltest"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/lease"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
	"github.com/kazahana-db/kazahana/tuple"
)

// hostileProvider is a provider with hostile errors, services and listings.
type hostileProvider struct{ idgen.LeaseProvider }

func (hostileProvider) Acquire(context.Context, idgen.AcquireRequest) ([]idgen.Lease, error) {
	return nil, fmt.Errorf("%w: %s", lease.ErrInvalid, shelltest.Evil)
}

func (hostileProvider) Release(context.Context, idgen.ReleaseRequest) error {
	return errors.Join(lease.ErrNotFound, errors.New(shelltest.Evil))
}

func (hostileProvider) Services(_ context.Context, after string, _ int) ([]string, error) {
	if after != "" {
		return nil, nil
	}
	return []string{shelltest.Evil}, nil
}

func (hostileProvider) List(context.Context, string, lease.ListOptions) (lease.Page, error) {
	return lease.Page{Leases: []lease.Info{{ID: 1, SequenceBits: 8, Meta: map[string]string{shelltest.Evil: shelltest.Evil, "a": "x host=b"}}}}, nil
}

// evilDatabase returns the folder of a database with hostile keys and values.
func evilDatabase(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "data")
	db, err := embedded.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := tuple.Tuple{shelltest.Evil}.Pack()
	if err != nil {
		t.Fatal(err)
	}
	setKey(t, db, []byte(shelltest.Evil), []byte(shelltest.Evil))
	setKey(t, db, packed, packed)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestHostileTextIsEscaped runs every verb against a server and stores that send
// hostile text, as text and as JSON.
func TestHostileTextIsEscaped(t *testing.T) {
	dir := t.TempDir()
	handler, err := leasehttp.NewHandler(hostileProvider{}, leasehttp.HandlerOptions{Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	evilServer, brokenServer := httptest.NewServer(handler), httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", shelltest.Evil)
		fmt.Fprint(w, shelltest.Evil)
	}))
	defer evilServer.Close()
	defer brokenServer.Close()
	store := "sqlite:" + filepath.Join(dir, "leases.db")
	database := evilDatabase(t)
	given := filepath.Join(dir, "lease.json")
	var out bytes.Buffer
	if code := Run(t.Context(), []string{"lease", "acquire", "--leases", store, "--fresh", "--json", "--meta", "host=" + shelltest.Evil}, Streams{Out: &out, Err: &out}); code != 0 {
		t.Fatalf("exit code %d: %s", code, &out)
	}
	if err := os.WriteFile(given, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"lease", "list", "--leases", store},
		{"lease", "services", "--leases", store},
		{"lease", "list", "--leases", evilServer.URL},
		{"lease", "list", "--leases", evilServer.URL, "--service", shelltest.Evil},
		{"lease", "services", "--leases", evilServer.URL},
		{"lease", "acquire", "--leases", evilServer.URL, "--meta", "host=" + shelltest.Evil},
		{"lease", "acquire", "--leases", store, "--service", shelltest.Evil},
		{"lease", "acquire", "--leases", store, "--meta", shelltest.Evil},
		{"lease", "release", "--leases", evilServer.URL, given},
		{"lease", "release", "--leases", store, given},
		{"lease", "release", "--leases", store, shelltest.Evil},
		{"lease", "quarantine", "--leases", store, "--service", shelltest.Evil},
		{"lease", "quarantine", "--leases", store},
		{"lease", "serve", "--leases", store, "--listen", shelltest.Evil, "--open"},
		{"lease", "serve", "--leases", store, "--services-file", shelltest.Evil},
		{"lease", "list", "--leases", shelltest.Evil},
		{"lease", "list", "--leases", "sqlite:" + shelltest.Evil},
		{"lease", "list", "--leases", "embedded:" + shelltest.Evil},
		{"lease", "list", "--leases", brokenServer.URL},
		{"lease", "services", "--leases", brokenServer.URL},
		{"lease", "acquire", "--leases", brokenServer.URL},
		{"lease", "release", "--leases", brokenServer.URL, given},
		{"id", "new", "--leases", evilServer.URL},
		{"id", "new", "--leases", evilServer.URL, "--fallback"},
		{"id", "new", "--epoch", shelltest.Evil},
		{"id", "inspect", shelltest.Evil},
		{"id", "inspect", "--external", shelltest.Evil},
		{"id", "encode", shelltest.Evil, "--mode", shelltest.Evil},
		{"id", "encode", "--key-file", shelltest.Evil, "5"},
		{"id", "decode", shelltest.Evil},
		{"verify", "--db", shelltest.Evil},
		{"backup", "--db", shelltest.Evil, shelltest.Evil},
		{"restore", shelltest.Evil, "--db", shelltest.Evil},
		{"kv", "get", "--db", shelltest.Evil, "a"},
		{"kv", "get", "--db", dir, shelltest.Evil},
		{"kv", "range", "--db", database},
		{"kv", "range", shelltest.Evil, "--db", database},
		{"kv", "clear", shelltest.Evil, "--dir", shelltest.Evil, "--db", database},
		{"kv", "clear", "--prefix", "", "--db", database},
		{"dir", "tree", "--sizes", "--db", database},
		{"dir", "tree", shelltest.Evil, "--db", database},
		{"dir", "mv", shelltest.Evil, shelltest.Evil, "--db", database},
		{"dir", "rm", shelltest.Evil, "--db", database},
		{"tenant", "list", shelltest.Evil, "--db", database},
		{"tenant", "import", "t", shelltest.Evil, "--db", database},
		{"stats", "--db", database},
		{"shell", "--db", database},
		{"log", "--db", database},
		{"help", shelltest.Evil},
		{"lease", shelltest.Evil},
		{"--" + shelltest.Evil},
		{shelltest.Evil},
	} {
		for _, asJSON := range []bool{false, true} {
			var out, errs bytes.Buffer
			all := args
			if asJSON {
				all = append([]string{"--json"}, args...)
			}
			code := Run(t.Context(), all, Streams{In: strings.NewReader(shelltest.Evil), Out: &out, Err: &errs})
			if out.Len()+errs.Len() == 0 {
				t.Errorf("%q: exit code %d, and nothing is written", all, code)
			}
			shelltest.CheckHarmless(t, all, out.String(), asJSON)
			shelltest.CheckHarmless(t, all, errs.String(), asJSON)
		}
	}
}

// TestJSONOfEachSpelling lists texts that JSON and terminals escape differently: the output is
// JSON of the same meaning with each spelling of the flag.
func TestJSONOfEachSpelling(t *testing.T) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "leases.db")
	const host = "\x7f\u202e\U000e0001\u009b"
	var out bytes.Buffer
	if code := Run(t.Context(), []string{"lease", "acquire", "--leases", store, "--fresh", "--meta", "host=" + host}, Streams{Out: &out, Err: &out}); code != ExitDone {
		t.Fatalf("exit code %d: %s", code, &out)
	}
	for _, flag := range []string{"--json", "--json=true", "--json=1"} {
		out.Reset()
		if code := Run(t.Context(), []string{"lease", "list", "--leases", store, flag}, Streams{Out: &out, Err: &out}); code != ExitDone {
			t.Fatalf("%s: exit code %d: %s", flag, code, &out)
		}
		var info lease.Info
		if err := json.Unmarshal(out.Bytes(), &info); err != nil || info.Meta["host"] != host {
			t.Errorf("%s: %v in %s, host is %q", flag, err, &out, info.Meta["host"])
		}
	}
}

// TestPasswordsAreNotQuoted mistypes URLs with a password.
func TestPasswordsAreNotQuoted(t *testing.T) {
	for _, at := range []string{
		"redis://:hunter2%zz@localhost", "redis://u:hunter2@localhost:port/0", "redis://u:hunter2@localhost/x",
		"redis://u:hunter2@127.0.0.1:1/0?x=1", "redi://u:hunter2@localhost", "u:hunter2@redis",
		"https://u:hunter2%zz@h", "https://u:hunter2@h", "http://u:hunter2@h:bad", "https://u:hunter2/@h", "http://u:hunter2@h",
	} {
		t.Setenv(leasehome.Variable, at)
		var out bytes.Buffer
		code := Run(t.Context(), []string{"lease", "list", "--timeout", "1s"}, Streams{Out: &out, Err: &out})
		if code == ExitDone || out.Len() == 0 || strings.Contains(out.String(), "hunter2") {
			t.Errorf("%s: exit code %d: %s", at, code, &out)
		}
	}
}
