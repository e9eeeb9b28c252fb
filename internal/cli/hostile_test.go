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
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// evil is what foreign text may be: it clears the terminal, sets its title, begins
// lines, turns the direction of text, and is no UTF-8.
const evil = "\x1b[2J\x1b]0;owned\a\r\nkazahana: done\nmachine 7 bits 8 active\u202e\u009b1m\u2028\x7f\x00\xff\t{\"error\":1}"

// hostileProvider is one whose errors, services and listings are evil.
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
	return lease.Page{Leases: []lease.Info{{ID: 1, BitSeq: 8, Meta: map[string]string{evil: evil, "a": "x host=b"}}}}, nil
}

// TestHostileTextIsEscaped runs every verb against a server and stores that say
// evil things, as text and as JSON.
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
		if strings.HasPrefix(line, "kazahana: done") || strings.HasPrefix(line, "machine 7") || !asJSON && strings.HasPrefix(line, "{") {
			t.Errorf("%q writes a forged line: %q", args, line)
		}
		if asJSON && !json.Valid([]byte(line)) && !strings.HasPrefix(args[1], "help") {
			t.Errorf("%q writes what is no JSON: %q", args, line)
		}
	}
}

// TestHostileTextStaysTheSameInJSON: escaping changes no value.
func TestHostileTextStaysTheSameInJSON(t *testing.T) {
	const name = "\x1b[2J\u202e\U000e0001\u009b\n\t\x7f"
	var out bytes.Buffer
	c := &command{&shell.Console{Streams: Streams{Out: shell.Escaping(&out, new(true))}, JSON: true}}
	if err := c.Write(service{name}); err != nil {
		t.Fatal(err)
	}
	var got service
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Service != name {
		t.Errorf("%q became %q, %v by way of %s", name, got.Service, err, &out)
	}
	if strings.ContainsFunc(strings.TrimSuffix(out.String(), "\n"), func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("JSON has characters that do not print: %q", &out)
	}
}

// TestMetaIsOneWordEach: a holder cannot make up a column of another name.
func TestMetaIsOneWordEach(t *testing.T) {
	got := describe(map[string]string{"host": "a task=import", "b c": "", "d": `e"f`, "g": "h"})
	if want := ` "b c"="" d="e\"f" g=h host="a task=import"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestServerLogsHostileText serves a client whose description is evil.
func TestServerLogsHostileText(t *testing.T) {
	provider, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, asJSON := range []bool{false, true} {
		var text locked
		c := &command{&shell.Console{Streams: Streams{Err: shell.Escaping(&text, &asJSON)}, JSON: asJSON}}
		l := logged{provider, c.Logger()}
		for _, req := range []idgen.AcquireRequest{
			{Meta: map[string]string{evil: evil}}, {ServiceID: evil}, {ServiceID: "a", Meta: map[string]string{"host": "b"}},
		} {
			_, _ = l.Acquire(t.Context(), req)
			_ = l.Release(t.Context(), idgen.ReleaseRequest{ServiceID: req.ServiceID, ID: 1, BitSeq: 8})
		}
		checkHarmless(t, []string{"logs", fmt.Sprint(asJSON)}, text.String(), asJSON)
	}
}

// TestLogOfHolders: a holder's description cannot pass for that of another one.
func TestLogOfHolders(t *testing.T) {
	meta := map[string]string{"host": "a task:b", "n": "1"}
	for _, test := range []struct {
		json bool
		want string
	}{{false, `holder="host=\"a task:b\" n=1"`}, {true, `"holder":{"host":"a task:b","n":"1"}`}} {
		var text bytes.Buffer
		c := &command{&shell.Console{Streams: Streams{Err: shell.Escaping(&text, &test.json)}, JSON: test.json}}
		c.Logger().Info("granted", "holder", holder(meta))
		if !strings.Contains(text.String(), test.want) {
			t.Errorf("logged %s, want %s", &text, test.want)
		}
	}
}

// locked is a buffer for several goroutines.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestJSONOfEachSpelling lists what JSON and terminals escape differently: it is
// JSON of the same meaning, however the flag is written.
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

// TestPasswordsAreNotQuoted mistypes places of leases that have a password.
func TestPasswordsAreNotQuoted(t *testing.T) {
	for _, at := range []string{
		"redis://:hunter2%zz@localhost", "redis://u:hunter2@localhost:port/0", "redis://u:hunter2@localhost/x",
		"redis://u:hunter2@127.0.0.1:1/0?x=1", "redi://u:hunter2@localhost", "u:hunter2@redis",
		"https://u:hunter2%zz@h", "https://u:hunter2@h", "http://u:hunter2@h:bad", "https://u:hunter2/@h", "http://u:hunter2@h",
	} {
		t.Setenv(leasesVariable, at)
		var out bytes.Buffer
		code := Run(t.Context(), []string{"lease", "list", "--timeout", "1s"}, Streams{Out: &out, Err: &out})
		if code == ExitDone || out.Len() == 0 || strings.Contains(out.String(), "hunter2") {
			t.Errorf("%s: exit code %d: %s", at, code, &out)
		}
	}
}
