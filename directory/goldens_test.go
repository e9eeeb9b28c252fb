// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/goldens"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/tuple"
)

// script is a line of directory.jsonl: calls of the official directory layer,
// with what it answered and what was in the database afterwards.
type script struct {
	Name   string
	Config struct {
		Node, Content  string
		ManualPrefixes bool `json:"manual_prefixes"`
	}
	Steps []scriptStep
	Final scriptFinal
}

type scriptStep struct {
	Op            string
	Dir, As, Txn  int
	Path          []string
	NewPath       []string `json:"new_path"`
	Layer, Prefix *string
	Key, Value    string
	Want          scriptAnswer
}

// scriptAnswer is what a call answered; a field that is absent is nil.
type scriptAnswer struct {
	Error, Panic    *string
	Path            *[]string
	Layer           *string
	Prefix          any // hex, or {"alloc": n}
	Exists, Removed *bool
	Names           *[]string
	Code            int
}

type scriptFinal struct {
	Version *string
	Nodes   []scriptNode
	HCA     []struct {
		Partition []string
		Counters  [][2]int64
		Recent    int
	}
	Stray int
	Raw   [][2]string
}

type scriptNode struct {
	Path    []string
	Prefix  any
	Layer   string
	Content [][2]string
}

func readScripts(t *testing.T) []script {
	t.Helper()
	var scripts []script
	lines := bufio.NewScanner(goldens.Trace(t, "directory"))
	lines.Buffer(nil, 10<<20)
	for lines.Scan() {
		var s script
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatalf("line %d: %v", len(scripts)+1, err)
		}
		scripts = append(scripts, s)
	}
	if err := lines.Err(); err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	return scripts
}

// TestGoldens replays every script on the embedded engine.
func TestGoldens(t *testing.T) {
	for _, s := range readScripts(t) {
		t.Run(s.Name, func(t *testing.T) { replay(t, func() kv.Database { return enginetest.Open(t) }, s) })
	}
}

// TestGoldensHostile replays them where every commit is retried and
// acknowledgements are lost: nothing must come out different.
func TestGoldensHostile(t *testing.T) {
	for _, s := range readScripts(t) {
		if slices.ContainsFunc(s.Steps, func(step scriptStep) bool { return step.Txn != 0 }) {
			continue // no loop retries an explicit transaction
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			replay(t, func() kv.Database { return faults.HostileT(t, enginetest.Open(t)) }, s)
		})
	}
}

// verbs is what a layer and a directory have in common.
type verbs interface {
	CreateOrOpen(context.Context, kv.Transactor, []string, ...directory.Expect) (*directory.Directory, error)
	Create(context.Context, kv.Transactor, []string, ...directory.Expect) (*directory.Directory, error)
	CreatePrefix(context.Context, kv.Transactor, []string, []byte, ...directory.Expect) (*directory.Directory, error)
	Open(context.Context, kv.ReadTransactor, []string, ...directory.Expect) (*directory.Directory, error)
	Exists(context.Context, kv.ReadTransactor, []string) (bool, error)
	List(context.Context, kv.ReadTransactor, []string) ([]string, error)
	Move(context.Context, kv.Transactor, []string, []string, ...directory.Condition) (*directory.Directory, error)
	RemoveIfExists(context.Context, kv.Transactor, []string, ...directory.Condition) (bool, error)
}

type replayer struct {
	t       *testing.T
	db      kv.Database
	layer   *directory.Layer
	options directory.Options
	handles map[int]*directory.Directory
	txs     map[int]kv.Transaction
	alloc   map[string]int // by prefix
	manual  []string       // the prefixes that the script gives by hand
	clashed bool           // whether the allocator drew one of those
}

// replay makes the calls of s and compares what they answer. The allocator
// draws at random: where it draws a prefix that the script is about to give by
// hand, which it did not when it was recorded, the replay begins anew.
func replay(t *testing.T, open func() kv.Database, s script) {
	for !replayOnce(t, open(), s) {
	}
}

// replayOnce reports whether the allocator drew as if it was being recorded.
func replayOnce(t *testing.T, db kv.Database, s script) bool {
	o := directory.Options{
		Nodes:               tuple.NewSubspace(unhex(t, s.Config.Node)),
		Content:             tuple.NewSubspace(unhex(t, s.Config.Content)),
		AllowManualPrefixes: s.Config.ManualPrefixes,
		AllowEmptyNames:     true,
	}
	layer, err := directory.New(o)
	if err != nil {
		t.Fatal(err)
	}
	r := &replayer{
		t: t, db: db, layer: layer, options: o, manual: s.manualPrefixes(),
		handles: map[int]*directory.Directory{}, txs: map[int]kv.Transaction{}, alloc: map[string]int{},
	}
	for i, step := range s.Steps {
		got, err := r.run(step)
		if diff := r.compare(step, got, err); diff != "" {
			t.Fatalf("step %d, %s of %d %q %q: (-want +got)\n%s", i, step.Op, step.Dir, step.Path, step.NewPath, diff)
		}
		if r.clashed {
			return false
		}
	}
	r.compareFinal(s.Final)
	return true
}

func (s script) manualPrefixes() []string {
	var prefixes []string
	for _, step := range s.Steps {
		if step.Prefix != nil {
			prefixes = append(prefixes, *step.Prefix)
		}
	}
	return prefixes
}

// run makes the call of a step.
func (r *replayer) run(s scriptStep) (scriptAnswer, error) {
	var t kv.Transactor = r.db
	if s.Txn != 0 && s.Op != "begin" {
		t = r.txs[s.Txn]
	}
	handle := r.handles[s.Dir]
	if s.Dir != 0 && handle == nil {
		return scriptAnswer{}, fmt.Errorf("the script uses handle %d, which failed to open", s.Dir)
	}
	switch s.Op {
	case "begin", "commit":
		return r.runTransaction(s)
	case "get_path", "prefix", "put", "put_raw":
		return r.runOnKeys(s, t, handle)
	case "move_to":
		if handle == nil {
			return scriptAnswer{}, directory.ErrRoot // a Layer has no MoveTo
		}
		return r.handle(s)(handle.MoveTo(context.Background(), t, s.NewPath))
	}
	if handle != nil {
		return r.runVerb(s, t, handle)
	}
	return r.runVerb(s, t, r.layer)
}

func (r *replayer) runTransaction(s scriptStep) (scriptAnswer, error) {
	if s.Op == "begin" {
		tx, err := r.db.Begin()
		r.txs[s.Txn] = tx
		return scriptAnswer{}, err
	}
	return scriptAnswer{Code: int(kv.CodeOf(r.txs[s.Txn].Commit(context.Background())))}, nil
}

func (r *replayer) runVerb(s scriptStep, t kv.Transactor, dir verbs) (scriptAnswer, error) {
	ctx := context.Background()
	var expects []directory.Expect
	if s.Layer != nil {
		expects = append(expects, directory.As(string(unhex(r.t, *s.Layer))))
	}
	switch s.Op {
	case "create":
		return r.handle(s)(dir.Create(ctx, t, s.Path, expects...))
	case "create_or_open":
		return r.handle(s)(dir.CreateOrOpen(ctx, t, s.Path, expects...))
	case "create_prefix":
		return r.handle(s)(dir.CreatePrefix(ctx, t, s.Path, unhex(r.t, *s.Prefix), expects...))
	case "open":
		return r.handle(s)(dir.Open(ctx, t, s.Path, expects...))
	case "move":
		return r.handle(s)(dir.Move(ctx, t, s.Path, s.NewPath))
	case "exists":
		exists, err := dir.Exists(ctx, t, s.Path)
		return scriptAnswer{Exists: &exists}, err
	case "list":
		names, err := dir.List(ctx, t, s.Path)
		return scriptAnswer{Names: &names}, err
	case "remove":
		removed, err := dir.RemoveIfExists(ctx, t, s.Path)
		return scriptAnswer{Removed: &removed}, err
	}
	return scriptAnswer{}, fmt.Errorf("no such call: %s", s.Op)
}

// runOnKeys makes the calls that do not read the directories.
func (r *replayer) runOnKeys(s scriptStep, t kv.Transactor, handle *directory.Directory) (scriptAnswer, error) {
	switch s.Op {
	case "get_path":
		return r.describe(handle, false), nil
	case "prefix":
		prefix, err := handle.Prefix()
		return scriptAnswer{Prefix: hex.EncodeToString(prefix)}, err
	case "put_raw":
		return scriptAnswer{}, set(t, unhex(r.t, s.Key), s.Value)
	}
	space, err := handle.Subspace()
	if err != nil {
		return scriptAnswer{}, err
	}
	return scriptAnswer{}, set(t, space.Sub(s.Key).Bytes(), s.Value)
}

func set(t kv.Transactor, key []byte, value string) error {
	return t.Transact(context.Background(), func(tx kv.Transaction) error {
		tx.Set(key, []byte(value))
		return nil
	})
}

func (r *replayer) handle(s scriptStep) func(*directory.Directory, error) (scriptAnswer, error) {
	return func(d *directory.Directory, err error) (scriptAnswer, error) {
		if err != nil {
			return scriptAnswer{}, err
		}
		r.handles[s.As] = d
		return r.describe(d, true), nil
	}
}

func (r *replayer) describe(d *directory.Directory, withPrefix bool) scriptAnswer {
	if d == nil {
		return scriptAnswer{Path: &[]string{}, Layer: new(string)}
	}
	path, layer := d.Path(), hex.EncodeToString([]byte(d.Layer()))
	a := scriptAnswer{Path: &path, Layer: &layer}
	if prefix, err := d.Prefix(); err == nil && withPrefix {
		a.Prefix = hex.EncodeToString(prefix)
	}
	return a
}

// golden errors of the official layer and what they are here.
var goldenErrors = []struct {
	text string
	is   error
}{
	{"the directory already exists", directory.ErrExists},
	{"the destination directory already exists", directory.ErrExists},
	{"the directory does not exist", directory.ErrNotFound},
	{"the source directory does not exist", directory.ErrNotFound},
	{"the parent of the destination directory does not exist", directory.ErrParentNotFound},
	{"the root directory cannot be", directory.ErrRoot},
	{"cannot be a subdirectory of the source directory", directory.ErrMoveIntoSelf},
	{"cannot move between partitions", directory.ErrBetweenPartitions},
	{"cannot specify a prefix", directory.ErrManualPrefix},
	{"cannot load directory with version", directory.ErrVersion},
	{"is read-only when opened", directory.ErrVersion},
	{"cannot determine directory version", directory.ErrCorrupt},
	{"of a directory partition", directory.ErrPartition},
	{"runtime error", directory.ErrBetweenPartitions}, // MoveTo to a path shorter than the partition's
}

// compare returns how the answer differs from the recorded one.
func (r *replayer) compare(s scriptStep, got scriptAnswer, err error) string {
	text := s.Want.Error
	if text == nil {
		text = s.Want.Panic
	}
	if text != nil {
		return compareError(*text, err)
	}
	if err != nil {
		return fmt.Sprintf("unexpected error: %v", err)
	}
	got.Prefix = r.matchAlloc(s.Want.Prefix, got.Prefix)
	return cmp.Diff(s.Want, got, cmpopts.EquateEmpty())
}

func compareError(want string, err error) string {
	var ok bool
	switch {
	case strings.Contains(want, "incompatible layer"):
		ok = errors.Is(err, directory.ErrLayer)
	case strings.Contains(want, "prefix is already in use"), strings.Contains(want, "not equal to 0xFF"):
		ok = errors.Is(err, directory.ErrPrefixInUse) && strings.Contains(err.Error(), "the given prefix")
	case strings.Contains(want, "automatic prefix allocator"):
		ok = errors.Is(err, directory.ErrPrefixInUse) && strings.Contains(err.Error(), "the allocated prefix")
	default:
		for _, g := range goldenErrors {
			if strings.Contains(want, g.text) {
				ok = errors.Is(err, g.is)
				break
			}
		}
	}
	if ok {
		return ""
	}
	return fmt.Sprintf("- %s\n+ %v", want, err)
}

// matchAlloc returns want if it names the allocated prefix got: the first
// mention of a number fixes its prefix.
func (r *replayer) matchAlloc(want, got any) any {
	named, ok := want.(map[string]any)
	text, isText := got.(string)
	if !ok || !isText {
		return got
	}
	r.clashed = r.clashed || slices.ContainsFunc(r.manual, func(m string) bool { return strings.HasPrefix(m, text) })
	n := int(named["alloc"].(float64))
	if known, ok := r.alloc[text]; ok && known != n {
		return fmt.Sprintf("%s, which is alloc %d", text, known)
	}
	for other, known := range r.alloc {
		if known == n && other != text {
			return fmt.Sprintf("%s, but alloc %d is %s", text, n, other)
		}
	}
	r.alloc[text] = n
	return want
}

func (r *replayer) compareFinal(want scriptFinal) {
	r.t.Helper()
	d := readDump(r.t, r.db, r.options)
	got := scriptFinal{Stray: len(d.stray)}
	if d.version != nil {
		v := hex.EncodeToString(d.version)
		got.Version = &v
	}
	for i, n := range d.nodes {
		g := scriptNode{Path: n.path, Prefix: any(hex.EncodeToString(n.prefix)), Layer: hex.EncodeToString([]byte(n.layer)), Content: hexPairs(n.content)}
		if i < len(want.Nodes) {
			g.Prefix = r.matchAlloc(want.Nodes[i].Prefix, g.Prefix)
		}
		got.Nodes = append(got.Nodes, g)
	}
	for _, w := range d.windows {
		got.HCA = append(got.HCA, struct {
			Partition []string
			Counters  [][2]int64
			Recent    int
		}{w.partition, w.counters, w.recent})
	}
	if want.Raw != nil {
		got.Raw = hexPairs(d.all)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		r.t.Errorf("final contents (-want +got):\n%s", diff)
	}
}

func hexPairs(pairs []kv.KeyValue) [][2]string {
	var out [][2]string
	for _, p := range pairs {
		out = append(out, [2]string{hex.EncodeToString(p.Key), hex.EncodeToString(p.Value)})
	}
	return out
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatalf("%q is not hex: %v", s, err)
	}
	return bytes.Clone(b)
}
