// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/clitest"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// TestExplainUnfinished: the suggested command names the tenant, in the quotes of a shell.
func TestExplainUnfinished(t *testing.T) {
	at := tenantAddress{[]string{"two types"}, "a/b"}
	if err := at.explain(t.Context(), nil, tenants.ErrUnfinished); !strings.HasSuffix(err.Error(), `: that is, kazahana tenant abandon 'two types/a\/b'`) {
		t.Error(err)
	}
}

// TestTwoExportsToOneFile checks that the first of two exports to one file that ends has
// it, complete, and that the other one says so and leaves nothing.
func TestTwoExportsToOneFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "tenant.export")
	var inner error
	outer := writeFile(name, func(w io.Writer) error {
		inner = writeFile(name, func(w io.Writer) error { return writeText(w, "inner") }, shell.SyncFolder)
		return writeText(w, "the outer, longer one")
	}, shell.SyncFolder)
	if inner != nil {
		t.Errorf("the export that ended first: %v", inner)
	}
	if outer == nil || !strings.Contains(outer.Error(), "exists") {
		t.Errorf("the other export: %v, want that the file exists", outer)
	}
	checkFiles(t, dir, map[string]string{"tenant.export": "inner"})
}

// TestExportThatFails checks that nothing is left of it.
func TestExportThatFails(t *testing.T) {
	dir := t.TempDir()
	fault := errors.New("no more")
	err := writeFile(filepath.Join(dir, "tenant.export"), func(w io.Writer) error {
		return errors.Join(writeText(w, "begin"), fault)
	}, shell.SyncFolder)
	if !errors.Is(err, fault) {
		t.Errorf("%v, want %v", err, fault)
	}
	checkFiles(t, dir, map[string]string{})
}

// TestExportIsSynced: when the folder is synced, the file has its name and no other one. If that
// fails, the file is not there: the export can be repeated.
func TestExportIsSynced(t *testing.T) {
	dir := t.TempDir()
	for _, fault := range []error{errors.New("the disk is gone"), nil} {
		synced := 0
		err := writeFile(filepath.Join(dir, "tenant.export"), func(w io.Writer) error { return writeText(w, "all") }, func(folder string) error {
			synced++
			checkFiles(t, folder, map[string]string{"tenant.export": "all"})
			return errors.Join(fault, shell.SyncFolder(folder))
		})
		if synced != 1 || !errors.Is(err, fault) {
			t.Errorf("the folder was synced %d times: %v, want %v", synced, err, fault)
		}
		if fault != nil {
			checkFiles(t, dir, map[string]string{})
		}
	}
	checkFiles(t, dir, map[string]string{"tenant.export": "all"})
}

func writeText(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

func checkFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(want) {
		t.Errorf("files %v, want %d", entries, len(want))
	}
	for name, content := range want {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != content {
			t.Errorf("%s: %q, %v, want %q", name, got, err, content)
		}
	}
}

// TestRemoveTheTenantShown: between the look and the removal another process acts, or the
// acknowledgement of the removal is lost and it acts then.
func TestRemoveTheTenantShown(t *testing.T) {
	remake := func(set *tenants.Set) error {
		return errors.Join(ignoreMissing(set.Delete(context.Background(), "tenant-1")), second(set.Copy(context.Background(), "tenant-2", "tenant-1", tenants.CopyOptions{})))
	}
	lock := func(set *tenants.Set) error { return second(set.Lock(context.Background(), "tenant-1", "an export")) }
	for name, test := range map[string]struct {
		before, after func(*tenants.Set) error
		want          string // of the error; "" for none
		left          bool
	}{
		"undisturbed":     {},
		"made again":      {before: remake, want: "another process has put another directory at tenants/tenant-1 since it was shown", left: true},
		"locked":          {before: lock, want: `is locked against writes (an export)`, left: true},
		"lost":            {after: func(*tenants.Set) error { return nil }},
		"lost, remade":    {after: remake, left: true},
		"removed already": {before: func(set *tenants.Set) error { return set.Delete(context.Background(), "tenant-1") }, want: "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTenantWorld(t)
			set, at := tenants.Of(w.Other, "tenants"), tenantAddress{[]string{"tenants"}, "tenant-1"}
			n, err := examineTenant(t.Context(), w.console, w.DB, at, tenants.Lock{})
			w.Must(err)
			if test.before != nil {
				w.Must(test.before(set))
			}
			if test.after != nil {
				w.Engine.Lose(false, func() error { return test.after(set) })
			}
			err = removeTenant(t.Context(), w.console, w.DB, at, n, tenants.Lock{})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			left, err := set.Exists(t.Context(), "tenant-1")
			w.Must(err)
			if left != test.left {
				t.Errorf("there is a tenant: %v", left)
			}
		})
	}
}

// TestRemoveLeftoversOnly: where there was nothing to show, a tenant that another process makes
// in between stays.
func TestRemoveLeftoversOnly(t *testing.T) {
	w := newTenantWorld(t)
	set, at := tenants.Of(w.Other, "tenants"), tenantAddress{[]string{"tenants"}, "trial"}
	n, err := examineTenant(t.Context(), w.console, w.DB, at, tenants.Lock{})
	if n != nil || err != nil {
		t.Fatalf("%v, %v", n, err)
	}
	w.Must(second(set.Copy(t.Context(), "tenant-2", "trial", tenants.CopyOptions{})))
	err = removeTenant(t.Context(), w.console, w.DB, at, n, tenants.Lock{})
	if shell.Code(err) != database.ExitMissing || !strings.Contains(err.Error(), "another process has just made tenants/trial") {
		t.Errorf("exit code %d, %v", shell.Code(err), err)
	}
	if is, err := set.Exists(t.Context(), "trial"); !is || err != nil {
		t.Errorf("the tenant of the other process: %v, %v", is, err)
	}
}

// TestSystemDirectoriesAreNoTenants: every verb refuses them.
func TestSystemDirectoriesAreNoTenants(t *testing.T) {
	w := newTenantWorld(t)
	for _, at := range []tenantAddress{{nil, "kazahana"}, {[]string{"kazahana"}, "placement"}, {[]string{"kazahana", "leases"}, "x"}} {
		if _, err := examineTenant(t.Context(), w.console, w.DB, at, tenants.Lock{}); !errors.Is(err, tenants.ErrName) {
			t.Errorf("%s: %v", at, err)
		}
		for verb, err := range map[string]error{
			"rm":   at.of(w.DB).Delete(t.Context(), at.name),
			"move": at.of(w.DB).Move(t.Context(), at.name, "x"),
			"copy": second(at.of(w.DB).Copy(t.Context(), at.name, "x", tenants.CopyOptions{})),
			"lock": second(at.of(w.DB).Lock(t.Context(), at.name, "")),
		} {
			if !errors.Is(err, tenants.ErrName) {
				t.Errorf("%s %s: %v", verb, at, err)
			}
		}
	}
}

// TestListPassesOverWhatIsUnreadable: a tenant with damaged settings is listed as such, those
// after it are listed, and the error names it.
func TestListPassesOverWhatIsUnreadable(t *testing.T) {
	w := newTenantWorld(t)
	d, err := w.Other.Layer().Open(t.Context(), w.Engine, []string{"tenants", "tenant-2"})
	w.Must(err)
	w.Must(w.Engine.Database.Transact(t.Context(), func(tx kv.Transaction) error {
		tx.Set(d.Annotation("kazahana").Sub("settings").Bytes(), []byte("damaged"))
		return nil
	}))
	err = (&listFlags{}).list(t.Context(), w.console, w.DB, []string{"tenants"})
	if !errors.Is(err, tenants.ErrUnreadable) || !strings.Contains(err.Error(), `["tenants" "tenant-2"]`) {
		t.Errorf("the error is %v", err)
	}
	want := "tenants/tenant-1\ntenants/tenant-2  cannot be read\ntenants/tenant-3\n"
	if got := w.console.Out.(*bytes.Buffer).String(); got != want {
		t.Errorf("listed:\n%s", got)
	}
}

// tenantWorld is a database with tenants, and the console of the verbs.
type tenantWorld struct {
	clitest.World
	console *shell.Console
}

func newTenantWorld(t *testing.T) tenantWorld {
	w := tenantWorld{clitest.NewWorld(t), &shell.Console{Streams: shell.Streams{Out: new(bytes.Buffer), Err: new(bytes.Buffer)}}}
	w.Must(bazaar.Seed(t.Context(), w.Engine.Database))
	return w
}

func second[T any](_ T, err error) error { return err }

func ignoreMissing(err error) error {
	if errors.Is(err, tenants.ErrNotFound) {
		return nil
	}
	return err
}
