// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/clitest"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

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
			w := newWorld(t)
			set, at := tenants.Of(w.Other, "tenants"), address{[]string{"tenants"}, "tenant-1"}
			n, err := examine(t.Context(), w.console, w.DB, at, tenants.Lock{})
			w.Must(err)
			if test.before != nil {
				w.Must(test.before(set))
			}
			if test.after != nil {
				w.Engine.Lose(false, func() error { return test.after(set) })
			}
			err = remove(t.Context(), w.console, w.DB, at, n, tenants.Lock{})
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
// meanwhile stays.
func TestRemoveLeftoversOnly(t *testing.T) {
	w := newWorld(t)
	set, at := tenants.Of(w.Other, "tenants"), address{[]string{"tenants"}, "trial"}
	n, err := examine(t.Context(), w.console, w.DB, at, tenants.Lock{})
	if n != nil || err != nil {
		t.Fatalf("%v, %v", n, err)
	}
	w.Must(second(set.Copy(t.Context(), "tenant-2", "trial", tenants.CopyOptions{})))
	err = remove(t.Context(), w.console, w.DB, at, n, tenants.Lock{})
	if shell.Code(err) != database.ExitMissing || !strings.Contains(err.Error(), "another process has made tenants/trial meanwhile") {
		t.Errorf("exit code %d, %v", shell.Code(err), err)
	}
	if is, err := set.Exists(t.Context(), "trial"); !is || err != nil {
		t.Errorf("the tenant of the other process: %v, %v", is, err)
	}
}

// TestSystemDirectoriesAreNoTenants: every verb refuses them.
func TestSystemDirectoriesAreNoTenants(t *testing.T) {
	w := newWorld(t)
	for _, at := range []address{{nil, "kazahana"}, {[]string{"kazahana"}, "placement"}, {[]string{"kazahana", "leases"}, "x"}} {
		if _, err := examine(t.Context(), w.console, w.DB, at, tenants.Lock{}); !errors.As(err, new(*tenants.NameError)) {
			t.Errorf("%s: %v", at, err)
		}
		for verb, err := range map[string]error{
			"rm":   at.of(w.DB).Delete(t.Context(), at.name),
			"move": at.of(w.DB).Move(t.Context(), at.name, "x"),
			"copy": second(at.of(w.DB).Copy(t.Context(), at.name, "x", tenants.CopyOptions{})),
			"lock": second(at.of(w.DB).Lock(t.Context(), at.name, "")),
		} {
			if !errors.As(err, new(*tenants.NameError)) {
				t.Errorf("%s %s: %v", verb, at, err)
			}
		}
	}
}

// TestListPassesOverWhatIsUnreadable: a tenant with damaged settings is listed as such, those
// after it are listed, and the error names it.
func TestListPassesOverWhatIsUnreadable(t *testing.T) {
	w := newWorld(t)
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

// world is a database with tenants, and the console of the verbs.
type world struct {
	clitest.World
	console *shell.Console
}

func newWorld(t *testing.T) world {
	w := world{clitest.NewWorld(t), &shell.Console{Streams: shell.Streams{Out: new(bytes.Buffer), Err: new(bytes.Buffer)}}}
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
