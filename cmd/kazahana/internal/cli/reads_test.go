// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/persistable"
)

// run is a run of the command.
type run struct {
	code int
	verb string
	args []string // after the verb
}

// reading are runs of verbs that read a database of package bazaar: each such verb is there
// at least once.
var reading = []run{
	{0, "verify", nil},
	{0, "log", nil},
	{0, "stats", nil},
	{0, "doctor", nil},
	{0, "kv get", []string{`("S", "Setting")`, "--dir", "settings"}},
	{4, "kv get", []string{"none"}},
	{3, "kv get", []string{"(21"}},
	{0, "kv range", []string{"--limit", "0"}},
	{2, "kv range", []string{"--prefix", "a", "--to", "b"}},
	{0, "dir tree", []string{"--sizes"}},

	{0, "type list", nil},
	{0, "type show", []string{"settings"}},
	{0, "schema show", []string{"settings"}},
	{0, "schema history", []string{"counters"}},
	{0, "schema diff", []string{"tenants/tenant-1/orders", "tenants/tenant-2/orders"}},
	{0, "record get", []string{"counters", "1", "--entries"}},
	{0, "record list", []string{"counters", "--limit", "2"}},
	{0, "record find", []string{"counters", "--where", "Value >= 0"}},
	{0, "index list", nil},
	{0, "index verify", []string{"tenants/tenant-1/orders"}},
	{0, "feed tail", []string{"tenants/tenant-1/orders"}},
	{0, "tenant list", []string{"tenants", "--sizes"}},
	{0, "tenant size", []string{"tenants/tenant-1"}},
	{0, "tenant export", []string{"tenants/tenant-1"}},
	{3, "tenant verify", []string{"tenants/tenant-1", os.DevNull}},
	{1, "placement list", nil}, // no host has joined
	{1, "placement members", nil},
	{0, "placement show", []string{"account/1"}},
}

// refused are runs of verbs that write, which are refused.
var refused = []run{
	{2, "kv clear", []string{`("S", "Setting")`, "--dir", "settings", "--system"}},
	{2, "record rm", []string{"counters", "1"}},
	{2, "record put", []string{"counters", os.DevNull, "--create", "--existing"}},
	{2, "dir rm", []string{"settings"}},
	{2, "tenant rm", []string{"tenants/tenant-1"}},
	{2, "index drop", []string{"counters", "Counter_Name_unique"}},
	{1, "placement forget-members", []string{"--yes"}}, // no host has joined
	{2, "move", nil}, // to which cluster?
}

// writing are the verbs that write to a database, besides refused; interactive are those that
// run others.
var (
	writing = []string{
		"backup", "restore", "dir mv", "index build", "index repair", "index violations",
		"tenant abandon", "tenant copy", "tenant import", "tenant lock", "tenant move", "tenant unlock",
	}
	interactive = []string{"shell", "ui"}
)

// TestDatabaseReadsWriteNothing: after commands that read, and commands that are refused, the
// folder has the same files with the same contents.
func TestDatabaseReadsWriteNothing(t *testing.T) {
	folder := bazaarFolder(t, func(context.Context, *persistable.DB) error { return nil })
	before := folderState(t, folder)
	for _, r := range slices.Concat(reading, refused) {
		args := slices.Concat(strings.Fields(r.verb), r.args, []string{"--db", folder})
		if _, errs, code := runCommand(t, args...); code != r.code {
			t.Errorf("%q: exit code %d, want %d: %s", args, code, r.code, errs)
		}
		expectUnchanged(t, args, folder, before)
	}
	elsewhere := filepath.Join(t.TempDir(), "new")
	for _, args := range [][]string{{"backup", "--db", folder, folder}, {"restore", folder, "--db", elsewhere}} { // the folder is not a backup
		if _, errs, code := runCommand(t, args...); code != 1 {
			t.Errorf("%q: exit code %d, want 1: %s", args, code, errs)
		}
		expectUnchanged(t, args, folder, before)
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("a refused restore has made its target")
	}
}

// TestShellAndPageWriteNothing runs reading verbs in a shell, and serves the page until its
// link is written: the folder stays as it is.
func TestShellAndPageWriteNothing(t *testing.T) {
	folder := bazaarFolder(t, func(context.Context, *persistable.DB) error { return nil })
	before := folderState(t, folder)
	var out, errs bytes.Buffer
	script := strings.NewReader("cd tenants\npwd\nrecord list /counters\nindex list\n")
	if code := Run(t.Context(), []string{"shell", "--db", folder}, Streams{In: script, Out: &out, Err: &errs}); code != 0 {
		t.Errorf("shell: exit code %d: %s", code, &errs)
	}
	expectUnchanged(t, []string{"shell"}, folder, before)
	ctx, cancel := context.WithCancel(t.Context())
	link := &endingWriter{end: cancel}
	if code := Run(ctx, []string{"ui", "--db", folder}, Streams{Out: link, Err: io.Discard}); code != 0 || !strings.Contains(link.String(), "http://") {
		t.Errorf("ui: exit code %d: %s", code, link)
	}
	expectUnchanged(t, []string{"ui"}, folder, before)
}

// endingWriter ends a run with what that writes first.
type endingWriter struct {
	bytes.Buffer
	end func()
}

// Write implements [io.Writer].
func (w *endingWriter) Write(text []byte) (int, error) {
	w.end()
	return w.Buffer.Write(text)
}

// TestEachVerbReadsOrWrites: each verb over a database is known as one that reads, whose
// runs TestDatabaseReadsWriteNothing has, or as one that writes.
func TestEachVerbReadsOrWrites(t *testing.T) {
	var reads, writes []string
	for _, r := range reading {
		reads = append(reads, r.verb)
	}
	for _, r := range refused {
		writes = append(writes, r.verb)
	}
	writes = append(writes, writing...)
	known := slices.Concat(reads, writes, interactive)
	for cmd := range commands(newRoot(shell.NewConsole("kazahana", nil, Streams{}))) {
		verb := strings.TrimPrefix(cmd.CommandPath(), "kazahana ")
		group, _, _ := strings.Cut(verb, " ")
		if cmd.HasSubCommands() || slices.Contains([]string{"id", "lease", "completion", "help", "version"}, group) {
			continue
		}
		if !slices.Contains(known, verb) {
			t.Errorf("%s is in none of the lists of this file: reading, refused, writing, interactive", verb)
		}
		known = slices.DeleteFunc(known, func(k string) bool { return k == verb })
	}
	if len(known) > 0 {
		t.Errorf("there are no verbs %q", known)
	}
	if both := slices.DeleteFunc(reads, func(verb string) bool { return !slices.Contains(writes, verb) }); len(both) > 0 {
		t.Errorf("%q read and write", both)
	}
}
