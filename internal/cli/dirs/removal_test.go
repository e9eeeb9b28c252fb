// SPDX-License-Identifier: Apache-2.0

package dirs

import (
	"context"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/cli/survey"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// world is a database with the directories a/b and home, and another process that changes it.
type world struct {
	*testing.T
	engine    *enginetest.Lossy
	db, other *persistable.DB
}

func newWorld(t *testing.T) world {
	w := world{T: t, engine: &enginetest.Lossy{Database: enginetest.Open(t)}}
	w.db, w.other = w.open(w.engine), w.open(w.engine.Database)
	w.create("a", "b")
	w.create("home")
	return w
}

func (w world) open(engine kv.Database) *persistable.DB {
	w.Helper()
	db, err := persistable.OpenWith(w.Context(), engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	w.must(err)
	w.Cleanup(func() { w.must(db.Close()) })
	return db
}

func (w world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// The changes of the other process.
func (w world) create(path ...string) {
	_, err := directory.Root().Create(context.Background(), w.engine.Database, path)
	w.must(err)
}

func (w world) remove(path ...string) {
	w.must(directory.Root().Remove(w.Context(), w.engine.Database, path))
}

func (w world) move(from, to string) {
	_, err := directory.Root().Move(w.Context(), w.engine.Database, strings.Split(from, "/"), strings.Split(to, "/"))
	w.must(err)
}

func (w world) exists(path string) bool {
	w.Helper()
	is, err := directory.Root().Exists(w.Context(), w.engine.Database, strings.Split(path, "/"))
	w.must(err)
	return is
}

func (w world) lock(set, name string) {
	_, err := tenants.Of(w.other, set).Lock(w.Context(), name, "an export")
	w.must(err)
}

// changes are what another process does after the verb has looked at the directory a: the verb
// then says why it changes nothing.
var changes = map[string]struct {
	do   func(world)
	want string
}{
	"made again":         {func(w world) { w.remove("a"); w.create("a", "b") }, "has put another directory at a since it was shown"},
	"another one there":  {func(w world) { w.create("z"); w.move("a", "y"); w.move("z", "a") }, "has put another directory at a since it was shown"},
	"one below replaced": {func(w world) { w.remove("a", "b"); w.create("a", "b") }, "has put another directory at a/b since it was shown"},
	"one moved into it":  {func(w world) { w.move("home", "a/home") }, "has made or moved the directory a/home since a was shown"},
	"locked":             {func(w world) { w.lock("a", "b") }, `"a"/"b" is locked`},
}

// TestRemoveWhatWasShown: the verb removes nothing that another process has put there since.
func TestRemoveWhatWasShown(t *testing.T) {
	for name, test := range changes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			n, err := examine(t.Context(), new(shell.Console), w.db, []string{"a"})
			w.must(err)
			test.do(w)
			if err := remove(t.Context(), w.db, n); err == nil || !strings.Contains(err.Error(), test.want) || !w.exists("a/b") && name != "another one there" {
				t.Errorf("%v, want %q", err, test.want)
			}
			if !w.exists("a") {
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
		w.must(w.engine.Database.Transact(t.Context(), func(tx kv.Transaction) error {
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
			w.must(bazaar.Seed(t.Context(), w.engine.Database))
			n, err := checkMove(t.Context(), new(shell.Console), w.db, []string{"a"}, []string{"b"})
			w.must(err)
			test.do(w)
			if err := move(t.Context(), w.db, n, []string{"b"}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if !w.exists("a") || w.exists("b") {
				t.Error("a was moved")
			}
		})
	}
}

// TestLostAcknowledgements: the verbs recognize what they have done themselves, and leave what
// another process makes at the path before they look again.
func TestLostAcknowledgements(t *testing.T) {
	for name, verb := range map[string]func(w world, n *survey.Node) error{
		"rm": func(w world, n *survey.Node) error { return remove(t.Context(), w.db, n) },
		"mv": func(w world, n *survey.Node) error { return move(t.Context(), w.db, n, []string{"home", "a"}) },
	} {
		for _, again := range []bool{false, true} {
			w := newWorld(t)
			n, err := examine(t.Context(), new(shell.Console), w.db, []string{"a"})
			w.must(err)
			w.engine.Lose(false, func() error {
				if again {
					w.create("a")
				}
				return nil
			})
			if err := verb(w, n); err != nil || w.exists("a") != again || w.exists("home/a/b") != (name == "mv") {
				t.Errorf("%s, made again %v: %v", name, again, err)
			}
		}
	}
}

// TestRemoveWhatIsGone: what another process has removed or moved meanwhile is not removed.
func TestRemoveWhatIsGone(t *testing.T) {
	for name, do := range map[string]func(world){
		"removed": func(w world) { w.remove("a") },
		"moved":   func(w world) { w.move("a", "home/a") },
	} {
		w := newWorld(t)
		n, err := examine(t.Context(), new(shell.Console), w.db, []string{"a"})
		w.must(err)
		do(w)
		err = remove(t.Context(), w.db, n)
		if code := shell.Code(err); code != database.ExitMissing || w.exists("home/a/b") != (name == "moved") {
			t.Errorf("%s: exit code %d, %v", name, code, err)
		}
	}
}
