// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	leasehttp "github.com/kazahana-db/kazahana/lease/http"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// goSymbol matches names of Go: Options.Layout, MaxThroughputPerMs.
var goSymbol = regexp.MustCompile(`\b[A-Za-z]+\.[A-Z]\w*|\b[A-Z]+[a-z]+[A-Z]\w*|\*[a-z]+\.`)

// TestErrorsNameNoGoSymbols: operators need not know Go, so errors name no symbols of it.
func TestErrorsNameNoGoSymbols(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	small := "sqlite:" + filepath.Join(dir, "small.db")
	lost := "sqlite:" + filepath.Join(dir, "lost.db")
	with := func(args ...string) []string {
		return append(args, "--bits", "20+41+2+1", "--leases", small, "--fresh")
	}
	server := serverWithTokens(t)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"lease", "acquire", "--leases", lost}, "quarantine --end"},
		{[]string{"id", "new", "--leases", lost}, "quarantine --end"},
		{with("lease", "acquire", "--throughput", "4"), ""}, // takes all
		{with("lease", "acquire", "--throughput", "4"), "--duration"},
		{with("lease", "acquire", "--throughput", "5"), "from 0 to 4"},
		{with("lease", "acquire", "--epoch", "5"), "never change"},
		{[]string{"lease", "list", "--leases", "http://id.example.com"}, "--plain-http"},
		{[]string{"lease", "list", "--leases", server}, "--token-file"},
		{[]string{"lease", "list", "--leases", lost, "--duration", "1ms"}, "duration"},
		{[]string{"id", "new", "--bits", "1+99+1+1"}, "timestamp bits is 99"},
		{[]string{"id", "new", "--epoch", "-5"}, "the epoch"},
		{[]string{"id", "new", "--bits", "20+41+2"}, "four numbers"},
		{[]string{"id", "new", "--epoch", "2200-01-01T00:00:00Z"}, "before the epoch"},
		{[]string{"lease", "serve", "--leases", "memory:", "--max-throughput", "-1"}, "--max-throughput"},
		{[]string{"lease", "serve", "--leases", "memory:", "--max-services", "0"}, "--max-services"},
		{[]string{"lease", "serve", "--leases", "memory:", "--token-file", file("tokens", `[{"name":"a","secret":"0123456789abcdef","maxLeasedPerMs":-1}]`)}, "maxLeasedPerMs"},
		{[]string{"lease", "serve", "--leases", "memory:", "--token-file", file("short", `[{"name":"a","secret":"0"}]`)}, "16 characters"},
		{[]string{"lease", "serve", "--leases", "memory:", "--services-file", file("services", `{"a":{"bits":"1+2+3+58"}}`)}, "service"},
		{[]string{"lease", "serve", "--leases", "memory:", "--service", "no good"}, "no good"},
		{[]string{"id", "encode", "--key-file", file("key", strings.Repeat("0f", 16)), "--current", "3", "5"}, "--current"},
		{[]string{"id", "encode", "--current", "3", "5"}, "current"},
		{[]string{"id", "decode", "--max-ahead", "-5s", "x"}, "max-ahead"},
		{[]string{"id", "inspect", "x"}, "x"},
		{[]string{"lease", "list", "--leases", "fdb:none"}, ""},
		{[]string{"verify", "--db", filepath.Join(dir, "none")}, "no database"},
		{[]string{"kv", "get", "--db", dir, "a"}, "no database"},
		{[]string{"kv", "range", "--db", dir, "--limit", "-1"}, "--limit"},
		{[]string{"lease", "list", "--leases", "redis://127.0.0.1:1", "--timeout", "5s"}, ""},
	} {
		var out, errs bytes.Buffer
		code := Run(t.Context(), test.args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		if !strings.Contains(errs.String(), test.want) || code == 0 && test.want != "" {
			t.Errorf("%q: exit code %d, %s; want it to say %q", test.args, code, &errs, test.want)
		}
		if name := goSymbol.FindString(strings.NewReplacer("FoundationDB", "", dir, "").Replace(errs.String())); name != "" {
			t.Errorf("%q: the error names %s: %s", test.args, name, &errs)
		}
	}
}

// serverWithTokens returns the URL of a lease server that requires a token.
func serverWithTokens(t *testing.T) string {
	t.Helper()
	provider, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := leasehttp.NewHandler(provider, leasehttp.HandlerOptions{Tokens: []leasehttp.Token{{Name: "a", Secret: "0123456789abcdef"}}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}
