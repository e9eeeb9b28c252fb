// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"bytes"
	"context"
	"encoding/binary"
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
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestDifferential runs random programs on two engines, one of them a cluster if
// there is one: directories answer the same and leave the same bytes, but for
// their prefixes.
func TestDifferential(t *testing.T) {
	seed, programs := seed.Of(t), 40
	if testing.Short() {
		programs = 8
	}
	durable := must[*embedded.Database](t)(embedded.Open(t.TempDir(), embedded.Options{NoSync: true}))
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
// what it left.
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

// onEngines runs a test on the engine as it is, and on the hostile one, which
// retries everything, loses acknowledgements and answers late.
func onEngines(t *testing.T, test func(t *testing.T, db kv.Database)) {
	t.Run("plain", func(t *testing.T) { test(t, enginetest.Open(t)) })
	t.Run("hostile", func(t *testing.T) { test(t, faults.HostileT(t, enginetest.Open(t))) })
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// mustDir is must for what most calls return.
func mustDir(t testing.TB) func(*directory.Directory, error) *directory.Directory {
	return must[*directory.Directory](t)
}

func transact(t testing.TB, db kv.Transactor, fn func(kv.Transaction) error) {
	t.Helper()
	if err := db.Transact(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

func path(elements ...string) []string { return elements }

func subspace(t testing.TB, d *directory.Directory) tuple.Subspace {
	t.Helper()
	return must[tuple.Subspace](t)(d.Subspace())
}

func wantPrefix(t testing.TB, want, got *directory.Directory) {
	t.Helper()
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("another directory (-want +got):\n%s", diff)
	}
}

// dump is a database below ff as the directory layer's format has it, read
// without any of the package's code.
type dump struct {
	version []byte
	nodes   []dumpNode
	windows []dumpWindows
	stray   []kv.KeyValue // keys that belong to nothing
	all     []kv.KeyValue
}

type dumpNode struct {
	path    []string
	prefix  []byte
	layer   string
	content []kv.KeyValue // keys without the prefix
}

// dumpWindows is the allocator of the outermost tree or of a partition.
type dumpWindows struct {
	partition []string
	counters  [][2]int64
	recent    int
}

func readDump(t testing.TB, db kv.Database, o directory.Options) dump {
	t.Helper()
	all, err := kv.ReadTransact(context.Background(), db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.KeyRange{Begin: nil, End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).Slice(context.Background())
	})
	if err != nil {
		t.Fatalf("reading the database: %v", err)
	}
	d := &dumper{t: t, dump: dump{all: all}, left: map[string][]byte{}}
	for _, pair := range all {
		d.left[string(pair.Key)] = pair.Value
	}
	nodes := o.Nodes
	if len(nodes.Bytes()) == 0 {
		nodes = tuple.NewSubspace([]byte{0xfe})
	}
	d.version = d.tree(nodes, nil)
	for _, pair := range all {
		if _, left := d.left[string(pair.Key)]; left {
			d.stray = append(d.stray, pair)
		}
	}
	return d.dump
}

type dumper struct {
	dump
	t    testing.TB
	left map[string][]byte
}

// pop removes a key from what is left and returns its value, nil if absent.
func (d *dumper) pop(key []byte) []byte {
	value, ok := d.left[string(key)]
	delete(d.left, string(key))
	if ok && value == nil {
		value = []byte{}
	}
	return value
}

// popPrefix removes and returns all pairs with keys that begin with prefix, in order.
func (d *dumper) popPrefix(prefix []byte) []kv.KeyValue {
	var pairs []kv.KeyValue
	for _, pair := range d.all {
		if _, left := d.left[string(pair.Key)]; left && bytes.HasPrefix(pair.Key, prefix) {
			pairs = append(pairs, pair)
			delete(d.left, string(pair.Key))
		}
	}
	return pairs
}

func (d *dumper) tree(nodes tuple.Subspace, path []string) (version []byte) {
	root := nodes.Sub(nodes.Bytes())
	version = d.pop(root.Sub([]byte("version")).Bytes())
	d.allocator(root.Sub([]byte("hca")), path)
	d.children(nodes, root, path)
	return version
}

func (d *dumper) allocator(hca tuple.Subspace, path []string) {
	w := dumpWindows{partition: path}
	for _, pair := range d.popPrefix(hca.Sub(0).Bytes()) {
		t, err := hca.Unpack(pair.Key)
		if err != nil {
			d.t.Fatalf("counter %x: %v", pair.Key, err)
		}
		w.counters = append(w.counters, [2]int64{t[1].(int64), int64(binary.LittleEndian.Uint64(pair.Value))})
	}
	w.recent = len(d.popPrefix(hca.Sub(1).Bytes()))
	if len(w.counters) > 0 || w.recent > 0 {
		d.windows = append(d.windows, w)
	}
}

// children adds the subdirectories of a node, and theirs.
func (d *dumper) children(nodes, node tuple.Subspace, path []string) {
	for _, pair := range d.popPrefix(node.Sub(0).Bytes()) {
		t, err := node.Unpack(pair.Key)
		if err != nil {
			d.t.Fatalf("link %x: %v", pair.Key, err)
		}
		d.node(nodes, pair.Value, append(slices.Clone(path), t[1].(string)))
	}
}

func (d *dumper) node(nodes tuple.Subspace, prefix []byte, path []string) {
	key := nodes.Sub(prefix)
	layer := d.pop(key.Sub([]byte("layer")).Bytes())
	if layer == nil {
		d.t.Errorf("directory %q with prefix %x has no layer key: its node is gone, or two paths lead to it", path, prefix)
	}
	n := dumpNode{path: path, prefix: prefix, layer: string(layer)}
	i := len(d.nodes)
	d.nodes = append(d.nodes, n)
	if n.layer == directory.Partition {
		d.tree(tuple.NewSubspace(append(slices.Clone(prefix), 0xfe)), path)
		return
	}
	d.children(nodes, key, path)
	for _, pair := range d.popPrefix(prefix) {
		d.nodes[i].content = append(d.nodes[i].content, kv.KeyValue{Key: pair.Key[len(prefix):], Value: pair.Value})
	}
}

// checkSound fails the test if keys belong to nothing, or prefixes overlap.
func (d dump) checkSound(t testing.TB) {
	t.Helper()
	for _, pair := range d.stray {
		t.Errorf("stray key %x = %q", pair.Key, pair.Value)
	}
	for i, a := range d.nodes {
		for _, b := range d.nodes[i+1:] {
			inside := len(b.path) > len(a.path) && slices.Equal(b.path[:len(a.path)], a.path) && a.layer == directory.Partition
			if !inside && (bytes.HasPrefix(a.prefix, b.prefix) || bytes.HasPrefix(b.prefix, a.prefix)) {
				t.Errorf("prefixes overlap: %q has %x, %q has %x", a.path, a.prefix, b.path, b.prefix)
			}
		}
	}
}

func (n dumpNode) String() string { return fmt.Sprintf("%q %x %q", n.path, n.prefix, n.layer) }
