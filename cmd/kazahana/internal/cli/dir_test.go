// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/clitest"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// TestMoveOfManyDirectories: the transaction of a move must end within five seconds on a cluster,
// so its rounds of reads do not grow with the directories.
func TestMoveOfManyDirectories(t *testing.T) {
	w := newDirWorld(t)
	for i := range 100 {
		w.Create("a", fmt.Sprint(i))
	}
	counted := faults.NewCounter(w.Engine)
	w.Must(counted.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		all, err := w.DB.Layer().Subtree(t.Context(), tx, []string{"a"})
		if err != nil {
			return err
		}
		return checkNewStores(t.Context(), tx, all, []string{"a"}, []string{"b"})
	}))
	if rounds := counted.Counts().Rounds; rounds > 10 {
		t.Errorf("%d rounds", rounds)
	}
}

// dirWorld is a database with the directories a/b and home.
type dirWorld struct{ clitest.World }

func newDirWorld(t *testing.T) dirWorld {
	w := dirWorld{clitest.NewWorld(t)}
	w.Create("a", "b")
	w.Create("home")
	return w
}

func (w dirWorld) lock(set, name string) {
	_, err := tenants.Of(w.Other, set).Lock(w.Context(), name, "an export")
	w.Must(err)
}

// dirChanges are what another process does after the verb has looked at the directory a: the verb
// then says why it changes nothing.
var dirChanges = map[string]struct {
	do   func(dirWorld)
	want string
}{
	"made again":         {func(w dirWorld) { w.Remove("a"); w.Create("a", "b") }, "has put another directory at a since it was shown"},
	"another one there":  {func(w dirWorld) { w.Create("z"); w.Move("a", "y"); w.Move("z", "a") }, "has put another directory at a since it was shown"},
	"one below replaced": {func(w dirWorld) { w.Remove("a", "b"); w.Create("a", "b") }, "has put another directory at a/b since it was shown"},
	"one moved into it":  {func(w dirWorld) { w.Move("home", "a/home") }, "has made or moved the directory a/home since a was shown"},
	"locked":             {func(w dirWorld) { w.lock("a", "b") }, `"a"/"b" is locked`},
}

// TestRemoveWhatWasShown: the verb removes nothing that another process has put there since.
func TestRemoveWhatWasShown(t *testing.T) {
	for name, test := range dirChanges {
		t.Run(name, func(t *testing.T) {
			w := newDirWorld(t)
			n, err := examineDir(t.Context(), new(shell.Console), w.DB, []string{"a"})
			w.Must(err)
			test.do(w)
			if err := removeDir(t.Context(), w.DB, n); err == nil || !strings.Contains(err.Error(), test.want) || !w.Exists("a/b") && name != "another one there" {
				t.Errorf("%v, want %q", err, test.want)
			}
			if !w.Exists("a") {
				t.Error("a was removed")
			}
		})
	}
}

// TestMoveWhatWasShown: the verb moves nothing that another process has put there since, nor
// stores.
func TestMoveWhatWasShown(t *testing.T) {
	all := map[string]struct {
		do   func(dirWorld)
		want string
	}{"stored in": {func(w dirWorld) {
		w.Must(w.Engine.Database.Transact(t.Context(), func(tx kv.Transaction) error {
			d, err := directory.Root().Open(t.Context(), tx, []string{"counters"})
			if err != nil {
				return err
			}
			found, err := headers.Read(t.Context(), tx, d.Reserve().Begin)
			if err != nil {
				return err
			}
			b, err := directory.Root().Open(t.Context(), tx, []string{"a", "b"})
			if err != nil {
				return err
			}
			s, err := b.Subspace()
			tx.Set(s.Sub("S", found[0].Type).Bytes(), found[0].Value)
			return err
		}))
	}, "a/b holds records of the type Counter"}}
	for name, test := range dirChanges {
		all[name] = test
	}
	for name, test := range all {
		t.Run(name, func(t *testing.T) {
			w := newDirWorld(t)
			w.Must(bazaar.Seed(t.Context(), w.Engine.Database))
			n, err := checkMove(t.Context(), new(shell.Console), w.DB, []string{"a"}, []string{"b"})
			w.Must(err)
			test.do(w)
			if err := moveDir(t.Context(), w.DB, n, []string{"b"}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if !w.Exists("a") || w.Exists("b") {
				t.Error("a was moved")
			}
		})
	}
}

// TestLostAcknowledgements: the verbs recognize what they have done themselves, and leave what
// another process makes at the path before they look again.
func TestLostAcknowledgements(t *testing.T) {
	for name, verb := range map[string]func(w dirWorld, n *database.Node) error{
		"rm": func(w dirWorld, n *database.Node) error { return removeDir(t.Context(), w.DB, n) },
		"mv": func(w dirWorld, n *database.Node) error { return moveDir(t.Context(), w.DB, n, []string{"home", "a"}) },
	} {
		for _, again := range []bool{false, true} {
			w := newDirWorld(t)
			n, err := examineDir(t.Context(), new(shell.Console), w.DB, []string{"a"})
			w.Must(err)
			w.Engine.Lose(false, func() error {
				if again {
					w.Create("a")
				}
				return nil
			})
			if err := verb(w, n); err != nil || w.Exists("a") != again || w.Exists("home/a/b") != (name == "mv") {
				t.Errorf("%s, made again %v: %v", name, again, err)
			}
		}
	}
}

// TestRemoveWhatIsGone: a directory that another process has removed or moved in the meantime stays as it is.
func TestRemoveWhatIsGone(t *testing.T) {
	for name, do := range map[string]func(dirWorld){
		"removed": func(w dirWorld) { w.Remove("a") },
		"moved":   func(w dirWorld) { w.Move("a", "home/a") },
	} {
		w := newDirWorld(t)
		n, err := examineDir(t.Context(), new(shell.Console), w.DB, []string{"a"})
		w.Must(err)
		do(w)
		err = removeDir(t.Context(), w.DB, n)
		if code := shell.Code(err); code != database.ExitMissing || w.Exists("home/a/b") != (name == "moved") {
			t.Errorf("%s: exit code %d, %v", name, code, err)
		}
	}
}
