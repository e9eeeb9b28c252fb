// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/testdata/deleted"
)

// TestDeletedRecords: the verbs of records delete as the program does, say what is deleted, restore it, and remove
// it for good.
func TestDeletedRecords(t *testing.T) {
	folder := bazaarFolder(t, func(ctx context.Context, db *persistable.DB) error {
		return deleted.CustomerStoreOf(db).CreateMany(ctx, []*deleted.Customer{{ID: 1, Name: "Ada"}, {ID: 2, Name: "Eve"}}, persistable.BatchOptions{})
	})
	run := func(want string, not string, args ...string) {
		t.Helper()
		out, errs, code := runCommand(t, append(args, "--db", folder)...)
		if code != 0 || !strings.Contains(out, want) || not != "" && strings.Contains(out, not) {
			t.Errorf("%v: exit code %d\n%s%s", args, code, out, errs)
		}
	}
	run("1 record removed", "", "record", "rm", "Customer", "1", "--yes")
	run(`"Eve"`, `"Ada"`, "record", "list", "Customer")
	run(`"Eve"`, `"Ada"`, "record", "find", "Customer", "--where", "ID > 0")
	run("deleted:\n{", "", "record", "get", "Customer", "1")
	run("deleted:\n{", "", "record", "list", "Customer", "--with-deleted")
	run(`"Name":"Ada"`, "deleted:", "record", "find", "Customer", "--where", `Name = "Ada"`, "--with-deleted", "--json")
	if _, errs, code := runCommand(t, "record", "rm", "Customer", "1", "--yes", "--db", folder); code != 4 {
		t.Errorf("a second removal: exit code %d: %s", code, errs)
	}
	out, _, _ := runCommand(t, "record", "get", "Customer", "1", "--json", "--db", folder)
	before, _, found := strings.Cut(out, `,"DeletedAt"`)
	if !found {
		t.Fatal(out)
	}
	file := filepath.Join(t.TempDir(), "ada.json")
	if err := os.WriteFile(file, []byte(before+"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("1 record written", "", "record", "put", "Customer", file, "--existing")
	run(`"Ada"`, "", "record", "list", "Customer")
	run("1 record removed", "", "record", "rm", "Customer", "1", "--yes")
	run("2 records removed", "", "record", "rm", "Customer", "--where", "ID > 0", "--for-good", "--yes")
	run("", "Name", "record", "list", "Customer", "--with-deleted")
}
