// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/clitest"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/storearg"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// TestListPassesOverDamagedHeaders: a store with a damaged header hides no other, and the error names
// it.
func TestListPassesOverDamagedHeaders(t *testing.T) {
	w := clitest.NewWorld(t)
	w.Must(bazaar.Seed(t.Context(), w.Engine.Database))
	d, err := w.DB.Layer().Open(t.Context(), w.Engine, []string{"counters"})
	w.Must(err)
	w.Must(w.Engine.Database.Transact(t.Context(), func(tx kv.Transaction) error {
		tx.Set(append(d.Reserve().Begin, headers.Key("Counter")...), []byte("damaged"))
		return nil
	}))
	cmd, out := &cobra.Command{}, &strings.Builder{}
	storearg.AddType(cmd)
	err = list(t.Context(), cmd, &shell.Console{Streams: shell.Streams{Out: out, Err: t.Output()}}, w.DB, nil)
	if err == nil || !strings.Contains(err.Error(), "Counter in counters") {
		t.Errorf("the error is %v", err)
	}
	if !strings.Contains(out.String(), "Order_Number_unique") {
		t.Errorf("the stores after it are not listed:\n%s", out)
	}
}

// TestBuildWhatWasShown: an index that is gone when the question is answered is not built,
// nor is another one of that name by itself.
func TestBuildWhatWasShown(t *testing.T) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	engine := enginetest.Open(t)
	check(bazaar.Seed(t.Context(), engine))
	db, err := persistable.OpenWith(t.Context(), engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	check(err)
	defer db.Close()
	s, err := dynamic.Open(t.Context(), db, []string{"counters"}, "")
	check(err)
	store := &target{s, s.Path(), s.Schema()}
	if ix, err := store.find("Counter_Name"); err == nil {
		t.Fatalf("the name without _unique finds %+v", ix)
	}
	c := shell.NewConsole("kazahana", nil, shell.Streams{Out: t.Output(), Err: t.Output()})
	err = build(t.Context(), c, store, "Counter_Name", persistable.BuildOptions{Workers: 1, Share: 1})
	if coded, ok := errors.AsType[*shell.ExitError](err); !ok || coded.Code != 4 {
		t.Errorf("the index that is gone: %v", err)
	}
	check(build(t.Context(), c, store, "Counter_Name_unique", persistable.BuildOptions{Workers: 1, Share: 1}))
}
