// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// bazaarFolder returns the folder of a closed database of package bazaar, to which change
// has been applied.
func bazaarFolder(t *testing.T, change func(context.Context, *persistable.DB) error) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "data")
	engine, err := embedded.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(seedBazaar(t.Context(), engine, change), engine.Close()); err != nil {
		t.Fatal(err)
	}
	return folder
}

func seedBazaar(ctx context.Context, engine *embedded.Database, change func(context.Context, *persistable.DB) error) error {
	if err := bazaar.Seed(ctx, engine); err != nil {
		return err
	}
	db, err := persistable.Open(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	if err != nil {
		return err
	}
	return errors.Join(change(ctx, db), db.Close())
}

// shareNames gives 120 counters one name, which keeps the unique index of names from being
// built.
func shareNames(ctx context.Context, db *persistable.DB) error {
	s, err := dynamic.Open(ctx, db, []string{"counters"}, "")
	if err != nil {
		return err
	}
	if err := s.Drop(ctx, "Counter_Name_unique"); err != nil {
		return err
	}
	counters := bazaar.CounterStoreOf(db)
	for i := range 120 {
		if err := counters.CreateWithID(ctx, int64(100+i), &bazaar.Counter{Name: "same"}); err != nil {
			return err
		}
	}
	if err := counters.Indexes().Build(ctx, persistable.BuildOptions{}); !errors.As(err, new(*persistable.NotUniqueError)) {
		return fmt.Errorf("the build ended with: %w", err)
	}
	return nil
}

// nextToken returns the token that a run with --json wrote to the error output, in its
// first line; "" for none.
func nextToken(t *testing.T, errs string) string {
	t.Helper()
	line, _, _ := strings.Cut(errs, "\n")
	var next struct{ Next string }
	if line != "" {
		if err := json.Unmarshal([]byte(line), &next); err != nil {
			t.Fatalf("%v: %s", err, errs)
		}
	}
	return next.Next
}

// TestPagesGoOn reads all pages of every verb that has pages, each with the token of the
// page before. Together they are what the verb shows at once.
func TestPagesGoOn(t *testing.T) {
	folder := bazaarFolder(t, shareNames)
	for _, test := range []struct {
		args  string
		limit int // 0: the verb has pages of its own size
		pages int
	}{
		{"kv range", 150, 0},
		{"kv range --keys-only --reverse", 130, 0},
		{"kv range counters --keys-only", 120, 0},
		{"kv range events --prefix (\"R\") --reverse", 1, 0},
		{"record list tenants/tenant-1/orders", 12, 2},
		{"record list tenants/tenant-1/orders --reverse", 7, 4},
		{"record list tenants/tenant-1/orders --index Order_Number_unique", 23, 2},
		{"record find counters --where Value>=0", 50, 3},
		{"feed tail tenants/tenant-1/orders", 5, 5},
		{"feed tail tenants/tenant-2/orders", 5, 1},
		{"index violations counters Counter_Name_unique", 0, 3},
		{"tenant list tenants", 2, 2},
		{"tenant list tenants", 1, 3},
		{"tenant list tenants --sizes", 3, 1},
		{"tenant list /", 1, 0},
	} {
		t.Run(test.args, func(t *testing.T) {
			args := append(strings.Fields(test.args), "--db", folder, "--json")
			all, pages := "", 0
			for token := ""; pages == 0 || token != ""; pages++ {
				part := slices.Clone(args)
				if test.limit > 0 {
					part = append(part, "--limit", fmt.Sprint(test.limit))
				}
				if token != "" {
					part = append(part, "--token", token)
				}
				out, errs, _ := runCommand(t, part...)
				if n := strings.Count(out, "\n"); pages > 50 || n == 0 || test.limit > 0 && n > test.limit {
					t.Fatalf("page %d has %d lines: %s", pages, n, errs)
				}
				all, token = all+out, nextToken(t, errs)
			}
			if test.pages > 0 && pages != test.pages {
				t.Errorf("%d pages, want %d", pages, test.pages)
			}
			if test.limit == 0 {
				expectEach(t, all, 119)
				return
			}
			whole, errs, code := runCommand(t, append(args, "--limit", "0")...)
			if code != 0 || errs != "" || all != whole {
				t.Errorf("exit code %d, %s\nthe pages are\n%s\nat once:\n%s", code, errs, all, whole)
			}
		})
	}
}

// expectEach checks that there are so many lines, each once.
func expectEach(t *testing.T, text string, want int) {
	t.Helper()
	lines := slices.Sorted(strings.Lines(text))
	if n := len(slices.Compact(slices.Clone(lines))); n != len(lines) || n != want {
		t.Errorf("%d lines, %d different ones, want %d", len(lines), n, want)
	}
}

// TestWrongTokens: a token that the verb has not written is invalid input.
func TestWrongTokens(t *testing.T) {
	token := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	folder := bazaarFolder(t, shareNames)
	for _, test := range []struct {
		code int
		args string
	}{
		{3, "kv range counters --token x"},
		{3, "kv range counters --token 00"},
		{3, "kv range counters --token ff00"},
		{3, "record list counters --token x"},
		{3, "record find counters --where Value>=0 --token 00"},
		{3, "feed tail events --token 00"},
		{2, "feed tail events --token 000660ecd546c71600000000 --since now"},
		{3, "index violations counters Counter_Name_unique --token x"},
		{3, "index verify counters --token x"},
		{3, "index repair counters --token x"},
		{3, "tenant list tenants --token !"},
		{3, "tenant list tenants --token x"},
		{3, "tenant list tenants --token 00"},
		{3, "tenant list tenants --token " + token("events")},
		{3, "tenant list tenants --token " + token("tenants")},
		{3, "tenant list tenants --token " + token("other/tenant-1")},
		{3, "tenant list tenants --token " + token("tenants/tenant-1/orders")},
	} {
		out, errs, code := runCommand(t, append(strings.Fields(test.args), "--db", folder)...)
		if code != test.code || out != "" || !strings.Contains(errs, "token") {
			t.Errorf("%s: exit code %d, want %d: %s%s", test.args, code, test.code, out, errs)
		}
	}
}

// TestEveryLimitHasAToken: each verb with --limit goes on with --token.
func TestEveryLimitHasAToken(t *testing.T) {
	limited := 0
	for cmd := range commands(newRoot(shell.NewConsole("kazahana", nil, Streams{}))) {
		if cmd.Flags().Lookup("limit") == nil {
			continue
		}
		limited++
		if cmd.Flags().Lookup(shell.TokenFlag) == nil {
			t.Errorf("%s has --limit, but not --%s", cmd.CommandPath(), shell.TokenFlag)
		}
	}
	if limited < 5 {
		t.Errorf("%d verbs have --limit", limited)
	}
}

// commands yields a command and all below it.
func commands(cmd *cobra.Command) func(yield func(*cobra.Command) bool) {
	return func(yield func(*cobra.Command) bool) {
		if !yield(cmd) {
			return
		}
		for _, sub := range cmd.Commands() {
			for below := range commands(sub) {
				if !yield(below) {
					return
				}
			}
		}
	}
}
