// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/contents"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// TestDifferential runs random programs on two engines, one of them a cluster if
// there is one: directories answer the same and leave the same bytes, but for
// their prefixes.
func TestDifferential(t *testing.T) {
	seed, programs := seed.Of(t), 40
	if testing.Short() {
		programs = 8
	}
	durable := must[*embedded.Database](t)(embedded.OpenWith(t.TempDir(), embedded.Options{NoSync: true}))
	t.Cleanup(func() { _ = durable.Close() })
	engine := enginetest.Open(t)
	for n := range programs {
		if diff := cmp.Diff(runProgram(t, durable, seed, n), runProgram(t, engine, seed, n)); diff != "" {
			t.Fatalf("program %d of seed %d (-durable +engine under test):\n%s", n, seed, diff)
		}
	}
}

// program is a random program on directories, and what it was answered.
type program struct {
	rng *rand.Rand
	db  kv.Database
	log []string
}

// runProgram runs a program on an empty database and returns its answers and
// what it left behind.
func runProgram(t testing.TB, db kv.Database, seed uint64, n int) []string {
	ctx := context.Background()
	err := db.Transact(ctx, func(tx kv.Transaction) error {
		tx.ClearRange(kv.KeyRange{Begin: []byte{}, End: []byte{0xff}})
		return nil
	})
	p := &program{rng: rand.New(rand.NewPCG(seed, uint64(n))), db: db}
	for range 40 {
		p.step(ctx)
	}
	stored, errStored := contents.Of(ctx, db, nil)
	if err := errors.Join(err, errStored); err != nil {
		t.Fatal(err)
	}
	return append(p.log, stored...)
}

func (p *program) path() []string {
	path := make([]string, 1+p.rng.IntN(3))
	for i := range path {
		path[i] = []string{"a", "b", "c/\x00"}[p.rng.IntN(3)]
	}
	return path
}

// step makes a call of its own, or some in a transaction that another changes
// under it.
func (p *program) step(ctx context.Context) {
	if p.rng.IntN(6) > 0 {
		p.call(ctx, p.db)
		return
	}
	first, errFirst := p.db.Begin()
	second, errSecond := p.db.Begin()
	if err := errors.Join(errFirst, errSecond); err != nil {
		p.note("Begin", nil, err)
		return
	}
	for range 2 + p.rng.IntN(3) {
		p.call(ctx, []kv.Transaction{first, second}[p.rng.IntN(2)])
	}
	// Of two that allocate, whether they meet depends on the prefixes drawn.
	if p.rng.IntN(2) == 0 {
		second.Cancel()
		p.note("Commit", nil, first.Commit(ctx))
	}
	first.Cancel()
	second.Cancel()
}

func (p *program) call(ctx context.Context, t kv.Transactor) {
	path, other, root := p.path(), p.path(), directory.Root()
	var expects []directory.Expect
	if i := p.rng.IntN(6); i < 3 {
		expects = append(expects, directory.As([]string{"", "one", directory.Partition}[i]))
	}
	switch p.rng.IntN(9) {
	case 0, 1:
		d, err := root.CreateOrOpen(ctx, t, path, expects...)
		p.write(ctx, t, d)
		p.note(fmt.Sprintf("CreateOrOpen %q", path), d, err)
	case 2:
		d, err := root.Create(ctx, t, path, expects...)
		p.note(fmt.Sprintf("Create %q", path), d, err)
	case 3, 4:
		d, err := root.Open(ctx, t, path, expects...)
		p.write(ctx, t, d)
		p.note(fmt.Sprintf("Open %q", path), d, err)
	case 5:
		names, err := root.List(ctx, t, path[1:])
		p.log = append(p.log, fmt.Sprintf("List %q → %q %v", path[1:], names, shortened(err)))
	case 6, 7:
		d, err := root.Move(ctx, t, path, other)
		p.note(fmt.Sprintf("Move %q to %q", path, other), d, err)
	default:
		removed, err := root.RemoveIfExists(ctx, t, path)
		p.log = append(p.log, fmt.Sprintf("Remove %q → %t %v", path, removed, shortened(err)))
	}
}

// write stores a pair in a directory.
func (p *program) write(ctx context.Context, t kv.Transactor, d *directory.Directory) {
	value := fmt.Append(nil, p.rng.IntN(1000))
	if d == nil || d.IsPartition() {
		return
	}
	prefix, err := d.Prefix()
	if err == nil {
		err = t.Transact(ctx, func(tx kv.Transaction) error {
			tx.Set(append(slices.Clone(prefix), value[0]), value)
			return nil
		})
	}
	p.note("write", nil, err)
}

func (p *program) note(what string, d *directory.Directory, err error) {
	text := shortened(err)
	if d != nil && err == nil {
		text = fmt.Sprintf("%q %q", d.Path(), d.Layer())
	}
	p.log = append(p.log, what+" → "+text)
}

func shortened(err error) string {
	if code := kv.CodeOf(err); code != 0 {
		return fmt.Sprintf("code %d", int(code))
	}
	return fmt.Sprint(err)
}
