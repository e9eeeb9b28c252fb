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
	"unicode"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/clitest"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/lease"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
	"github.com/kazahana-db/kazahana/tuple"
)

// hostileProvider is a provider with hostile errors, services and listings.
type hostileProvider struct{ idgen.LeaseProvider }

func (hostileProvider) Acquire(context.Context, idgen.AcquireRequest) ([]idgen.Lease, error) {
	return nil, fmt.Errorf("%w: %s", lease.ErrInvalid, evil)
}

func (hostileProvider) Release(context.Context, idgen.ReleaseRequest) error {
	return errors.Join(lease.ErrNotFound, errors.New(evil))
}

func (hostileProvider) Services(_ context.Context, after string, _ int) ([]string, error) {
	if after != "" {
		return nil, nil
	}
	return []string{evil}, nil
}

func (hostileProvider) List(context.Context, string, lease.ListOptions) (lease.Page, error) {
	return lease.Page{Leases: []lease.Info{{ID: 1, SequenceBits: 8, Meta: map[string]string{evil: evil, "a": "x host=b"}}}}, nil
}

// evilDatabase returns the folder of a database with hostile keys and values.
func evilDatabase(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "data")
	db, err := embedded.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := tuple.Tuple{evil}.Pack()
	if err != nil {
		t.Fatal(err)
	}
	setKey(t, db, []byte(evil), []byte(evil))
	setKey(t, db, packed, packed)
	if err := clitest.Kill(db, folder); err != nil {
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
		w.Header().Set("Content-Type", evil)
		fmt.Fprint(w, evil)
	}))
	defer evilServer.Close()
	defer brokenServer.Close()
	store := "sqlite:" + filepath.Join(dir, "leases.db")
	database := evilDatabase(t)
	given := filepath.Join(dir, "lease.json")
	var out bytes.Buffer
	if code := Run(t.Context(), []string{"lease", "acquire", "--leases", store, "--fresh", "--json", "--meta", "host=" + evil}, Streams{Out: &out, Err: &out}); code != 0 {
		t.Fatalf("exit code %d: %s", code, &out)
	}
	if err := os.WriteFile(given, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"lease", "list", "--leases", store},
		{"lease", "services", "--leases", store},
		{"lease", "list", "--leases", evilServer.URL},
		{"lease", "list", "--leases", evilServer.URL, "--service", evil},
		{"lease", "services", "--leases", evilServer.URL},
		{"lease", "acquire", "--leases", evilServer.URL, "--meta", "host=" + evil},
		{"lease", "acquire", "--leases", store, "--service", evil},
		{"lease", "acquire", "--leases", store, "--meta", evil},
		{"lease", "release", "--leases", evilServer.URL, given},
		{"lease", "release", "--leases", store, given},
		{"lease", "release", "--leases", store, evil},
		{"lease", "quarantine", "--leases", store, "--service", evil},
		{"lease", "quarantine", "--leases", store},
		{"lease", "serve", "--leases", store, "--listen", evil, "--open"},
		{"lease", "serve", "--leases", store, "--services-file", evil},
		{"lease", "list", "--leases", evil},
		{"lease", "list", "--leases", "sqlite:" + evil},
		{"lease", "list", "--leases", "embedded:" + evil},
		{"lease", "list", "--leases", brokenServer.URL},
		{"lease", "services", "--leases", brokenServer.URL},
		{"lease", "acquire", "--leases", brokenServer.URL},
		{"lease", "release", "--leases", brokenServer.URL, given},
		{"id", "new", "--leases", evilServer.URL},
		{"id", "new", "--leases", evilServer.URL, "--fallback"},
		{"id", "new", "--epoch", evil},
		{"id", "inspect", evil},
		{"id", "inspect", "--external", evil},
		{"id", "encode", evil, "--mode", evil},
		{"id", "encode", "--key-file", evil, "5"},
		{"id", "decode", evil},
		{"verify", "--db", evil},
		{"backup", "--db", evil, evil},
		{"restore", evil, "--db", evil},
		{"kv", "get", "--db", evil, "a"},
		{"kv", "get", "--db", dir, evil},
		{"kv", "range", "--db", database},
		{"kv", "range", evil, "--db", database},
		{"kv", "clear", evil, "--dir", evil, "--db", database},
		{"kv", "clear", "--prefix", "", "--db", database},
		{"dir", "tree", "--sizes", "--db", database},
		{"dir", "tree", evil, "--db", database},
		{"dir", "mv", evil, evil, "--db", database},
		{"dir", "rm", evil, "--db", database},
		{"tenant", "list", evil, "--db", database},
		{"tenant", "import", "t", evil, "--db", database},
		{"stats", "--db", database},
		{"shell", "--db", database},
		{"log", "--db", database},
		{"help", evil},
		{"lease", evil},
		{"--" + evil},
		{evil},
	} {
		for _, asJSON := range []bool{false, true} {
			var out, errs bytes.Buffer
			all := args
			if asJSON {
				all = append([]string{"--json"}, args...)
			}
			code := Run(t.Context(), all, Streams{In: strings.NewReader(evil), Out: &out, Err: &errs})
			if out.Len()+errs.Len() == 0 {
				t.Errorf("%q: exit code %d, and nothing is written", all, code)
			}
			checkHarmless(t, all, out.String(), asJSON)
			checkHarmless(t, all, errs.String(), asJSON)
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

// evil is foreign text that clears the terminal, sets its title, begins
// lines, turns the direction of text, and is not valid UTF-8.
const evil = "\x1b[2J\x1b]0;owned\a\r\nkazahana: done\nmachine 7 bits 8 active\u202e\u009b1m\u2028\x7f\x00\xff\t{\"error\":1}"

// checkHarmless checks that nothing written acts on a terminal, or is a line that
// only foreign text has begun.
func checkHarmless(t *testing.T, args []string, text string, asJSON bool) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%q writes what is no UTF-8: %q", args, text)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("%q writes %q", args, text[i:min(i+20, len(text))])
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "kazahana: done") || strings.HasPrefix(line, "machine 7 bits") || !asJSON && strings.HasPrefix(line, "{") {
			t.Errorf("%q writes a forged line: %q", args, line)
		}
		if asJSON && !json.Valid([]byte(line)) && !strings.HasPrefix(args[1], "help") {
			t.Errorf("%q writes what is no JSON: %q", args, line)
		}
	}
}
