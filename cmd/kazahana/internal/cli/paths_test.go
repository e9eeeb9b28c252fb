// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/tuple"
)

// oddPath is a path that has a meaning for shells, and oddArgument is its path as
// messages write it.
var oddPath = []string{"two types", "a/b's"}

const oddArgument = `'two types/a\/b'"'"'s'`

// addOddDirectory makes a directory at oddPath with the stores of two types.
func addOddDirectory(ctx context.Context, db *persistable.DB) error {
	return db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		to, err := db.Layer().Create(ctx, tx, oddPath)
		if err != nil {
			return err
		}
		for dir, typ := range map[string]string{"counters": "Counter", "settings": "Setting"} {
			from, err := db.Layer().Open(ctx, tx, []string{dir})
			if err != nil {
				return err
			}
			header := tuple.AppendString(tuple.AppendString(nil, "S"), typ)
			value, err := tx.Get(append(from.Reserve().Begin, header...)).Get(ctx)
			if err != nil {
				return err
			}
			tx.Set(append(to.Reserve().Begin, header...), value)
		}
		return nil
	})
}

// TestSeveralTypes: a verb on a directory with stores of several types is wrong use without
// --type, and the message says which types there are.
func TestSeveralTypes(t *testing.T) {
	folder, path := bazaarFolder(t, addOddDirectory), `two types/a\/b's`
	for _, verb := range [][]string{
		{"record", "list", path},
		{"record", "get", path, "1"},
		{"record", "rm", path, "1"},
		{"type", "show", path},
		{"schema", "show", path},
		{"feed", "tail", path},
		{"index", "verify", path},
	} {
		args := append(verb, "--db", folder)
		want := "kazahana: " + oddArgument + " has records of several types: say by --type which: Counter, Setting\n"
		if out, errs, code := runCommand(t, args...); code != 2 || out != "" || !strings.HasPrefix(errs, want) {
			t.Errorf("%q: exit code %d, %s%s", args, code, out, errs)
		}
	}
	for _, typ := range []string{"Counter", "Setting"} {
		if _, errs, code := runCommand(t, "record", "list", path, "--type", typ, "--db", folder); code != 0 {
			t.Errorf("--type %s: exit code %d, %s", typ, code, errs)
		}
	}
	_, errs, code := runCommand(t, "record", "list", path, "--type", "Count", "--db", folder)
	if want := oddArgument + " has no store of Count; it has Counter, Setting\n"; code != 4 || !strings.HasSuffix(errs, want) {
		t.Errorf("another type: exit code %d, %s", code, errs)
	}
}

// TestPathsInMessages: paths that have a meaning for shells are quoted in messages.
func TestPathsInMessages(t *testing.T) {
	folder := bazaarFolder(t, addOddDirectory)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"record", "list", "two types/x y"}, "there is no directory 'two types/x y': 'two types' has no 'x y'; it has 'a\\/b'\"'\"'s'"},
		{[]string{"record", "list", "two type"}, "did you mean 'two types'?"},
		{[]string{"record", "list", `two types/a\/b`}, `there is no directory 'two types/a\/b'`},
		{[]string{"index", "build", `two types/a\/b's`, "X", "--type", "Counter"}, "Counter in " + oddArgument + " has no index X"},
		{[]string{"kv", "range", "--", "-x"}, "there is no directory /-x"},
		{[]string{"dir", "mv", `two types`, "counters/x"}, oddArgument + " holds records of the type Counter, Setting, and programs look for them there"},
		{[]string{"dir", "mv", `two types`, "x y"}, "below 'x y'; if 'two types' is a tenant"},
		{[]string{"dir", "mv", `kazahana/a b`, "x"}, "'kazahana/a b' holds what the database"},
		{[]string{"dir", "rm", `two types`}, "'two types': 2 directories, 2 stores,"},
		{[]string{"dir", "rm", `two types`}, "  " + oddArgument + ": Counter, Setting"},
		{[]string{"tenant", "rm", `two types/a\/b's`}, oddArgument + ": 1 directory, 2 stores,"},
		{[]string{"tenant", "copy", `two types/x`, "y"}, "'two types/x' and y are in different directories"},
	} {
		args := append([]string{test.args[0], test.args[1], "--db", folder}, test.args[2:]...)
		if _, errs, code := runCommand(t, args...); code == 0 || !strings.Contains(errs, test.want) {
			t.Errorf("%q: exit code %d, %s, want %s", args, code, errs, test.want)
		}
	}
}

// TestPathsInRemedies: the commands that the verbs of tenants suggest can be pasted, and results
// in JSON have the path itself.
func TestPathsInRemedies(t *testing.T) {
	folder, path := bazaarFolder(t, addOddDirectory), `two types/a\/b's`
	if out, errs, code := runCommand(t, "tenant", "lock", path, "--db", folder); code != 0 || !strings.HasPrefix(out, oddArgument+" is locked: ") {
		t.Fatalf("exit code %d, %s%s", code, out, errs)
	}
	if _, errs, code := runCommand(t, "tenant", "move", path, "two types/x", "--db", folder); code == 0 || !strings.Contains(errs, "kazahana tenant unlock "+oddArgument) {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if out, errs, _ := runCommand(t, "tenant", "unlock", path, "--db", folder, "--json"); out != `{"path":"two types/a\\/b's","lock":null}`+"\n" {
		t.Errorf("%s%s", out, errs)
	}
}
