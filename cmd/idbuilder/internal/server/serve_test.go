// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/controller"
	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// TestFirstToken: the first admin token goes to a file that its owner alone can read, and is not shown
// where the output is not a terminal. Where the file cannot be written no token is made, so that the next start
// makes one.
func TestFirstToken(t *testing.T) {
	tokens, s := authority(t, storetest.Memory(t)), settings.Default()
	if s.Server.Host != "127.0.0.1" {
		t.Errorf("without a setting the server listens at %s", s.Server.Host)
	}
	dir := t.TempDir()
	s.Auth.AdminTokenFile = filepath.Join(dir, "missing", "token")
	if out, err := showFirst(t, s, tokens); err == nil || !strings.Contains(err.Error(), "no admin token was made") || out != "" {
		t.Errorf("a file that cannot be written: %v, the output is %q", err, out)
	}
	s.Auth.AdminTokenFile = filepath.Join(dir, "token")
	out, err := showFirst(t, s, tokens)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.Auth.AdminTokenFile)
	if err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("%v, the file has the mode %v", err, info.Mode())
	}
	shown := wantToken(t, s.Auth.AdminTokenFile, tokens)
	if strings.Contains(out, shown) || !strings.Contains(out, s.Auth.AdminTokenFile) {
		t.Errorf("the output is %q", out)
	}
	if out, err := showFirst(t, s, tokens); err != nil || strings.Contains(out, "token") {
		t.Errorf("the second start: %v, the output is %q", err, out)
	}
}

// TestFirstTokenIsFound: a start that ends when the store has the token, and the file has another name, leaves the
// token to the next start. A start that another one overtakes leaves the other's token in the file.
func TestFirstTokenIsFound(t *testing.T) {
	memory, s := storetest.Memory(t), settings.Default()
	s.Auth.AdminTokenFile = filepath.Join(t.TempDir(), "token")
	var stored atomic.Bool // the authority has goroutines of its own
	cut := storetest.Faulty(memory, func(c storetest.Call) storetest.Fault {
		if c.Method == "Put" && c.Name == "__admin__" {
			stored.Store(true)
		}
		return storetest.Fault{Lose: stored.Load()}
	})
	if out, err := showFirst(t, s, authority(t, cut)); !errors.Is(err, storetest.ErrFault) || out != "" {
		t.Fatalf("the answer of the store was lost: %v, the output is %q", err, out)
	}
	out, err := showFirst(t, s, authority(t, memory))
	if err != nil || !strings.Contains(out, s.Auth.AdminTokenFile) {
		t.Errorf("the next start: %v, the output is %q", err, out)
	}
	wantToken(t, s.Auth.AdminTokenFile, authority(t, memory))

	other := storetest.Memory(t)
	s.Auth.AdminTokenFile = filepath.Join(t.TempDir(), "token")
	overtaken := storetest.Faulty(other, func(c storetest.Call) (f storetest.Fault) {
		if c.Method == "Put" && c.Name == "__admin__" {
			f.Before = func(context.Context) {
				if _, err := showFirst(t, s, authority(t, other)); err != nil {
					t.Error(err)
				}
			}
		}
		return f
	})
	if out, err := showFirst(t, s, authority(t, overtaken)); err != nil || strings.Contains(out, "token") {
		t.Errorf("the start that was overtaken: %v, the output is %q", err, out)
	}
	wantToken(t, s.Auth.AdminTokenFile, authority(t, other))
}

// showFirst is showStart for an output that is not a terminal.
func showFirst(t *testing.T, s *settings.Settings, tokens *token.Authority) (string, error) {
	var out strings.Builder
	err := showStart(t.Context(), program.New(nil, shell.Streams{Out: &out, Err: io.Discard}), s, tokens, start{serves: "IDs"})
	return out.String(), err
}

// wantToken checks that a file, alone in its folder, has an admin token, and returns that.
func wantToken(t *testing.T, file string, tokens *token.Authority) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	shown := strings.TrimSpace(string(text))
	if who, err := tokens.Check(t.Context(), shown); err != nil || !who.Admin {
		t.Errorf("the token in the file has the rights %+v, %v", who, err)
	}
	if files, err := os.ReadDir(filepath.Dir(file)); err != nil || len(files) != 1 {
		t.Errorf("%v, the folder of the file has %v", err, files)
	}
	return shown
}

// authority returns the tokens of a store.
func authority(t *testing.T, store store.Store) *token.Authority {
	watch, err := revision.New(store, revision.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watch.Close)
	tokens, err := token.New(store, watch, token.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// TestServeFinishes ends a server with a running request: it is answered before serve returns,
// or cut off at the limit, which the error says.
func TestServeFinishes(t *testing.T) {
	for _, limit := range []time.Duration{time.Minute, 0} {
		begun, answer := make(chan struct{}), make(chan struct{})
		at, err := newSite(serverKey, "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(begun)
			<-answer
			_, _ = io.WriteString(w, "done")
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
		s := settings.Default()
		s.Server.ShutdownTimeout = limit
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- serve(ctx, []*site{at}, s, slog.New(slog.DiscardHandler)) }()
		body := make(chan string, 1)
		go func() { body <- get(at.url()) }()
		<-begun
		cancel()
		if limit == 0 {
			if err := <-ended; err == nil || !strings.Contains(err.Error(), "cut off") {
				t.Errorf("beyond the limit: %v", err)
			}
			close(answer)
			if text := <-body; text == "done" {
				t.Error("the request was answered, though it was cut off")
			}
			continue
		}
		close(answer)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if text := <-body; text != "done" {
			t.Errorf("the request got %q", text)
		}
	}
}

func get(url string) string {
	res, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return string(text)
}

// TestServeFails ends all servers when one of them fails.
func TestServeFails(t *testing.T) {
	var sites []*site
	for _, key := range []string{serverKey, metricsKey} {
		at, err := newSite(key, "127.0.0.1:0", http.NotFoundHandler(), nil)
		if err != nil {
			t.Fatal(err)
		}
		sites = append(sites, at)
	}
	if err := sites[1].listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := serve(t.Context(), sites, settings.Default(), slog.New(slog.DiscardHandler)); err == nil || !strings.HasPrefix(err.Error(), metricsKey+": ") {
		t.Errorf("%v", err)
	}
	// A connection that nothing has accepted when the listener is closed is reset.
	if text := get(sites[0].url()); !strings.Contains(text, "refused") && !strings.Contains(text, "reset") {
		t.Errorf("the other server answers %q", text)
	}
}

// TestReadiness: questions whether a controller is ready share the store's answer, and its line in
// the log; a client that goes away does not end the ping that the others wait for.
func TestReadiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pings atomic.Int64
		ping := func(ctx context.Context) error {
			pings.Add(1)
			<-ctx.Done()
			return ctx.Err()
		}
		var logged strings.Builder // the handler has a lock
		ready := readiness(newPinger(ping, time.Hour, slog.New(slog.NewTextHandler(&logged, nil))))
		gone, cancel := context.WithCancel(t.Context())
		ask := func(ctx context.Context) {
			w := httptest.NewRecorder()
			if ready(w, httptest.NewRequestWithContext(ctx, "GET", "/ready", nil)); w.Code != http.StatusServiceUnavailable {
				t.Errorf("the answer is %d", w.Code)
			}
		}
		var all sync.WaitGroup
		all.Go(func() { ask(gone) })
		synctest.Wait()
		cancel()
		for range 100 {
			all.Go(func() { ask(t.Context()) })
		}
		all.Wait()
		if n, lines := pings.Load(), strings.Count(logged.String(), "\n"); n != 1 || lines != 1 {
			t.Errorf("%d pings and %d lines in the log, want 1 of each", n, lines)
		}
	})
}

// TestMetricsAddress: metrics are at the server's address and at their own, at their own alone, or
// nowhere; with a token they need it; other paths are served as they are.
func TestMetricsAddress(t *testing.T) {
	worker := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "worker "+r.URL.Path) })
	for _, c := range []struct {
		metrics      settings.Metrics
		path, sends  string
		status       int
		says, listen string
	}{
		{settings.Metrics{Enabled: true, Path: "/metrics", Port: 9091}, "/metrics", "", 200, "go_goroutines", "h:9091"},
		{settings.Metrics{Enabled: true, Path: "/metrics"}, "//v1", "", 200, "worker //v1", ""},
		{settings.Metrics{Enabled: true, Path: "/m", Port: 9091}, "/m", "", 200, "go_goroutines", "h:9091"},
		{settings.Metrics{Enabled: true, Path: "/m", Port: 9091}, "/metrics", "", 404, "", "h:9091"},
		{settings.Metrics{Path: "/metrics", Port: 9091}, "/metrics", "", 404, "", ""},
		{settings.Metrics{Enabled: true, Path: "/metrics", Port: 9091, Listen: "127.0.0.1:1"}, "/metrics", "", 404, "", "127.0.0.1:1"},
		{settings.Metrics{Enabled: true, Path: "/metrics", Token: "0123456789abcdef"}, "/metrics", "", 401, "observability.metrics.token", ""},
		{settings.Metrics{Enabled: true, Path: "/metrics", Token: "0123456789abcdef"}, "/metrics", "Bearer another", 401, "", ""},
		{settings.Metrics{Enabled: true, Path: "/metrics", Token: "0123456789abcdef"}, "/metrics", "Bearer 0123456789abcdef", 200, "go_goroutines", ""},
	} {
		r := httptest.NewRequest("GET", c.path, nil)
		r.Header.Set("Authorization", c.sends)
		w := httptest.NewRecorder()
		withMetrics(c.metrics, worker).ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%+v: GET %s with %q: %d %.200s", c.metrics, c.path, c.sends, w.Code, w.Body)
		}
		if got := c.metrics.Address(settings.Server{Host: "h"}); got != c.listen {
			t.Errorf("%+v: the own address is %q, want %q", c.metrics, got, c.listen)
		}
	}
}

// TestFirstRegistration: a worker that starts says in its first registration that it is ready.
func TestFirstRegistration(t *testing.T) {
	first := make(chan controller.Registration, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got controller.Registration
		if err := json.NewDecoder(r.Body).Decode(&got); err == nil && r.URL.Path == controller.RegisterPath {
			first <- got
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer s.Close()
	set := settings.Default()
	set.Controller.Endpoint, set.Controller.Address, set.Controller.Token = s.URL, "http://worker:8080", "0123456789abcdef"
	l, err := newLink(set, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w, err := worker.New(storetest.Memory(t), worker.Options{Logger: slog.New(slog.DiscardHandler)}, worker.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	stop := l.start(t.Context(), w)
	if got := <-first; !got.Ready {
		t.Errorf("the first registration is %+v", got)
	}
	stop()
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
