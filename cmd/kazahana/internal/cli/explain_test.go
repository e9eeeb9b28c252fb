// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/doctor"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// goSymbol matches names of Go: Options.Layout, MaxThroughput.
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

// TestTooManyServicesExplained: the error names the flag of the command that helps.
func TestTooManyServicesExplained(t *testing.T) {
	provider, err := memory.New(memory.Options{Server: lease.Options{MaxServices: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		_, err = provider.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: id})
	}
	if !errors.Is(err, lease.ErrTooManyServices) {
		t.Fatalf("got %v, want ErrTooManyServices", err)
	}
	if text := explainError(err).Error(); !strings.Contains(text, "--max-services") || strings.Contains(text, "MaxServices") {
		t.Errorf("it is explained as %q", text)
	}
}

// TestExitCodes pins the codes, which scripts depend on.
func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
	}{
		{errors.New("no route to host"), 1},
		{fmt.Errorf("%w: %w", idgen.ErrLeaseAcquisition, &refusal.ExhaustedError{}), 1},
		{&refusal.QuarantineError{}, 1},
		{&refusal.EpochMismatchError{}, 1},
		{lease.ErrUnknownService, 1},
		{shell.Misuse(&cobra.Command{Use: "x"}, errors.New("unknown flag")), 2},
		{idgen.ErrInvalid, 3},
		{lease.ErrInvalid, 3},
		{shell.Invalid(errors.New("no key")), 3},
		{lease.ErrNotFound, 4},
		{lease.ErrSignature, 4},
		{lease.ErrLastTs, 4},
		{lease.ErrExpiredTimestamp, 4},
	} {
		if got := exitCode(fmt.Errorf("wrapped: %w", test.err)); got != test.want {
			t.Errorf("%v: exit code %d, want %d", test.err, got, test.want)
		}
	}
}

// TestRemedies: each command in what the doctor says to do is one of kazahana's, with its
// arguments and flags, and is marked as a command. Those of fdbcli are marked, too.
func TestRemedies(t *testing.T) {
	marked, others, n := regexp.MustCompile("`kazahana ([^`]*)`"), regexp.MustCompile("`fdbcli --exec '[^`]*'`"), 0
	for _, code := range doctor.Codes() {
		if rest := others.ReplaceAllString(marked.ReplaceAllString(code.Remedy, ""), ""); strings.Contains(rest, "kazahana ") || strings.Contains(rest, "`") {
			t.Errorf("%s: a command is not marked: %s", code.Name, code.Remedy)
		}
		for _, command := range marked.FindAllStringSubmatch(code.Remedy, -1) {
			n++
			if err := parse(strings.Fields(command[1])); err != nil {
				t.Errorf("%s: kazahana %s: %v", code.Name, command[1], err)
			}
		}
	}
	if n < 30 {
		t.Errorf("%d commands were checked", n)
	}
}

// parse finds a command, and parses its flags and arguments, without running it.
func parse(args []string) error {
	root := newRoot(shell.NewConsole("kazahana", nil, Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}))
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if !cmd.Runnable() {
		return errors.New("it is a group of commands")
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}
