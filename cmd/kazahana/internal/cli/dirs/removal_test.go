// SPDX-License-Identifier: Apache-2.0

package dirs

import (
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/clitest"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/survey"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// world is a database with the directories a/b and home.
type world struct{ clitest.World }

func newWorld(t *testing.T) world {
	w := world{clitest.NewWorld(t)}
	w.Create("a", "b")
	w.Create("home")
	return w
}

func (w world) lock(set, name string) {
	_, err := tenants.Of(w.Other, set).Lock(w.Context(), name, "an export")
	w.Must(err)
}

// changes are what another process does after the verb has looked at the directory a: the verb
// then says why it changes nothing.
var changes = map[string]struct {
	do   func(world)
	want string
}{
	"made again":         {func(w world) { w.Remove("a"); w.Create("a", "b") }, "has put another directory at a since it was shown"},
	"another one there":  {func(w world) { w.Create("z"); w.Move("a", "y"); w.Move("z", "a") }, "has put another directory at a since it was shown"},
	"one below replaced": {func(w world) { w.Remove("a", "b"); w.Create("a", "b") }, "has put another directory at a/b since it was shown"},
	"one moved into it":  {func(w world) { w.Move("home", "a/home") }, "has made or moved the directory a/home since a was shown"},
	"locked":             {func(w world) { w.lock("a", "b") }, `"a"/"b" is locked`},
}

// TestRemoveWhatWasShown: the verb removes nothing that another process has put there since.
func TestRemoveWhatWasShown(t *testing.T) {
	for name, test := range changes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			n, err := examine(t.Context(), new(shell.Console), w.DB, []string{"a"})
			w.Must(err)
			test.do(w)
			if err := remove(t.Context(), w.DB, n); err == nil || !strings.Contains(err.Error(), test.want) || !w.Exists("a/b") && name != "another one there" {
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
		do   func(world)
		want string
	}{"stored in": {func(w world) {
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
	for name, test := range changes {
		all[name] = test
	}
	for name, test := range all {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Must(bazaar.Seed(t.Context(), w.Engine.Database))
			n, err := checkMove(t.Context(), new(shell.Console), w.DB, []string{"a"}, []string{"b"})
			w.Must(err)
			test.do(w)
			if err := move(t.Context(), w.DB, n, []string{"b"}); err == nil || !strings.Contains(err.Error(), test.want) {
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
	for name, verb := range map[string]func(w world, n *survey.Node) error{
		"rm": func(w world, n *survey.Node) error { return remove(t.Context(), w.DB, n) },
		"mv": func(w world, n *survey.Node) error { return move(t.Context(), w.DB, n, []string{"home", "a"}) },
	} {
		for _, again := range []bool{false, true} {
			w := newWorld(t)
			n, err := examine(t.Context(), new(shell.Console), w.DB, []string{"a"})
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

// TestRemoveWhatIsGone: what another process has removed or moved meanwhile is not removed.
func TestRemoveWhatIsGone(t *testing.T) {
	for name, do := range map[string]func(world){
		"removed": func(w world) { w.Remove("a") },
		"moved":   func(w world) { w.Move("a", "home/a") },
	} {
		w := newWorld(t)
		n, err := examine(t.Context(), new(shell.Console), w.DB, []string{"a"})
		w.Must(err)
		do(w)
		err = remove(t.Context(), w.DB, n)
		if code := shell.Code(err); code != database.ExitMissing || w.Exists("home/a/b") != (name == "moved") {
			t.Errorf("%s: exit code %d, %v", name, code, err)
		}
	}
}
