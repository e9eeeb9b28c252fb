// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/scenario"
)

// theme is what a random program is about: how often it takes each kind of
// step, and what it draws arguments from.
type theme struct {
	name    string
	weights map[string]int // over those of plainWeights
	illegal bool           // keys that no program may write, inverted ranges
	large   bool           // keys and values about as long as allowed
	keys    int            // how many keys it works on; 0 means some of all
}

// plainWeights are the kinds of steps of every theme.
var plainWeights = map[string]int{
	"get": 12, "get_key": 8, "get_range": 14, "get_read_version": 2,
	"set": 12, "clear": 4, "clear_range": 5, "atomic": 10,
	"add_read_conflict": 2, "add_write_conflict": 2, "option": 2, "conflict_ranges": 2,
	"get_approximate_size": 3, "get_committed_version": 1, "get_versionstamp": 1, "await_versionstamp": 1,
	"commit": 7, "reset": 3, "begin": 1, "cancel": 0, "on_error": 1,
}

// themes are the programs that Run draws.
var themes = []theme{
	{name: "mixed"},
	{name: "overlay", weights: map[string]int{"get_range": 30, "get_key": 24, "clear_range": 9, "atomic": 16, "commit": 3, "conflict_ranges": 8, "option": 3}},
	{name: "atomics", weights: map[string]int{"atomic": 60, "get": 20, "commit": 6, "set": 10}, keys: 4},
	{name: "conflicts", weights: map[string]int{"commit": 16, "add_read_conflict": 8, "add_write_conflict": 8, "conflict_ranges": 10}, keys: 5},
	{name: "stamps", weights: map[string]int{"stamped": 25, "get_versionstamp": 6, "await_versionstamp": 8, "commit": 10, "get_approximate_size": 6, "conflict_ranges": 5}},
	{name: "watches", weights: map[string]int{"watch": 12, "watch_state": 12, "cancel_watch": 2, "set": 20, "commit": 14, "cancel": 1}, keys: 3},
	{name: "life", weights: map[string]int{"commit": 12, "reset": 8, "cancel": 4, "on_error": 8, "begin": 4, "set_read_version": 5, "commit_start": 6, "get_committed_version": 6, "get_versionstamp": 6, "await_versionstamp": 6, "option": 8, "watch": 2, "watch_state": 2}},
	{name: "options", weights: map[string]int{"option": 30, "on_error": 4, "get_approximate_size": 10, "conflict_ranges": 8, "set_read_version": 1}},
	{name: "illegal", weights: map[string]int{"add_read_conflict": 8, "add_write_conflict": 8, "stamped": 6, "get_approximate_size": 8, "commit": 8, "reset": 8, "option": 4, "watch": 4}, illegal: true},
	{name: "sizes", weights: map[string]int{"get_approximate_size": 20, "add_read_conflict": 8, "add_write_conflict": 8, "option": 6, "stamped": 6, "conflict_ranges": 4}, large: true, illegal: true},
}

// program is a program that is being drawn.
type program struct {
	theme
	rng   *rand.Rand
	pool  []string
	slots int
	begun []int // slots
	ids   int   // of watches and versionstamps so far
	kinds []string
	sum   int // of the kinds' weights
	steps []scenario.Step
}

// drawProgram returns a scenario without answers.
func drawProgram(seed uint64, number, steps int) scenario.Scenario {
	return drawOf(themes[number%len(themes)], seed, number, steps)
}

func drawOf(th theme, seed uint64, number, steps int) scenario.Scenario {
	d := &program{theme: th, rng: rand.New(rand.NewPCG(seed, uint64(number)))}
	d.slots = 1 + d.rng.IntN(4)
	d.choosePool()
	d.chooseKinds()
	s := scenario.Scenario{Name: fmt.Sprintf("differential/%s/%d/%d", th.name, seed, number), Kind: "differential", Seed: seed}
	for range d.rng.IntN(12) {
		s.Setup = append(s.Setup, scenario.PairText{literal(d.pool[d.rng.IntN(len(d.pool))]), d.shortValue()})
	}
	for len(d.steps) < steps {
		d.next()
	}
	for _, slot := range d.begun {
		d.finish(slot)
	}
	s.Steps = d.steps
	return s
}

func (d *program) chooseKinds() {
	weights := maps.Clone(plainWeights)
	maps.Copy(weights, d.weights)
	d.kinds = slices.Sorted(maps.Keys(weights))
	bounds := make([]string, 0, 256)
	for _, kind := range d.kinds {
		bounds = append(bounds, slices.Repeat([]string{kind}, weights[kind])...)
	}
	d.kinds, d.sum = bounds, len(bounds)
}

// next adds a step, or a few that belong together.
func (d *program) next() {
	slot := d.rng.IntN(d.slots)
	if !slices.Contains(d.begun, slot) {
		d.begin(slot)
		return
	}
	draws[d.kinds[d.rng.IntN(d.sum)]](d, slot)
}

func (d *program) add(st scenario.Step) { d.steps = append(d.steps, st) }

func (d *program) begin(slot int) {
	if !slices.Contains(d.begun, slot) {
		d.begun = append(d.begun, slot)
	}
	d.add(scenario.Step{Tx: slot, Op: "begin", GRV: d.one(2)})
}

// finish looks at what a transaction has gathered and commits it, most often.
func (d *program) finish(slot int) {
	if d.one(2) {
		d.add(scenario.Step{Tx: slot, Op: "conflict_ranges"})
	}
	if d.one(2) {
		d.add(scenario.Step{Tx: slot, Op: "get_approximate_size"})
	}
	if !d.one(5) {
		d.add(scenario.Step{Tx: slot, Op: "commit"})
	}
}

// renew makes a slot usable again, in most cases.
func (d *program) renew(slot int) {
	switch d.rng.IntN(8) {
	case 0, 1, 2:
		d.add(scenario.Step{Tx: slot, Op: "reset"})
	case 3, 4, 5:
		d.begin(slot)
	}
}

// one is true once in n times.
func (d *program) one(n int) bool { return d.rng.IntN(n) == 0 }

func of[T any](d *program, all ...T) T { return all[d.rng.IntN(len(all))] }

// legalKeys lie close together: prefixes of each other, neighbours, both ends.
// None of them is told apart from a key with a versionstamp by the stamp's
// bytes, which are not the same everywhere.
var legalKeys = []string{
	"", "\x00", "\x00\x00", "a", "a\x00", "a\x00\x00", "a\x01", "aa", "ab", "b", "b\x00", "ba", "b\xff", "c", "c\xff", "c\xff\xff",
	"d", "k", "s", "s\x00", "s\x01", "s\xff", "t", "\xfe", "\xfe\xff", "\xfe\xff\xff",
}

// illegalKeys are beyond the keys that everybody may use.
var illegalKeys = []string{"\xff", "\xff\x00", "\xff\x01", "\xffa", "\xff\xfe", "\xff\xff", "\xff\xff\x00"}

// stampedValues are the keys with values that get versionstamps. Nothing computes
// with them, for the result would depend on the stamp.
var stampedValues = []string{"v", "v\x00", "w"}

func literal(s string) scenario.Text {
	if s == "" {
		return nil
	}
	return scenario.Text{{Literal: []byte(s)}}
}

// choosePool chooses the keys that a program works on.
func (d *program) choosePool() {
	d.pool = slices.Clone(legalKeys)
	d.rng.Shuffle(len(d.pool), func(i, j int) { d.pool[i], d.pool[j] = d.pool[j], d.pool[i] })
	n := d.theme.keys
	if n == 0 {
		n = 4 + d.rng.IntN(12)
	}
	d.pool = d.pool[:n]
}

// key is the key of a read or a write.
func (d *program) key() scenario.Text {
	switch {
	case d.illegal && d.one(8):
		return literal(of(d, illegalKeys...))
	case d.large && d.one(4):
		return d.longKey()
	case d.one(30):
		return literal(of(d, stampedValues...))
	case d.weights["stamped"] > 0 && d.one(10):
		return d.stampedKey()
	}
	return literal(d.pool[d.rng.IntN(len(d.pool))])
}

// longKey is about as long as a key may be; some are system keys, which may be
// longer.
func (d *program) longKey() scenario.Text {
	length := of(d, kv.MaxKeySize-1, kv.MaxKeySize, kv.MaxKeySize+1, kv.MaxKeySize+2, 100)
	if d.one(12) {
		return literal("\xff" + strings.Repeat("l", length-1))
	}
	return literal("l" + strings.Repeat(of(d, "l", "m", "\xff"), length-1))
}

// stampedKey is what SetVersionstampedKey may have written.
func (d *program) stampedKey() scenario.Text {
	t := scenario.Text{{Literal: []byte("s")}, {Stamp: &scenario.StampID{Slot: d.rng.IntN(d.slots), N: d.rng.IntN(2)}}}
	return append(t, literal(of(d, "", "", "x"))...)
}

// length is one that operands have.
func (d *program) length() int { return of(d, 0, 1, 1, 2, 3, 4, 5, 7, 8, 8, 8, 9, 12, 16, 17) }

func (d *program) randomBytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(of(d, 0, 1, 0x7f, 0x80, 0xfe, 0xff, d.rng.IntN(256)))
	}
	return b
}

// value is the value of a set or the operand of an atomic operation.
func (d *program) value() scenario.Text {
	if d.large && d.one(6) {
		length := of(d, kv.MaxValueSize-8, kv.MaxValueSize-1, kv.MaxValueSize, kv.MaxValueSize+1)
		return scenario.Text{{Literal: bytes.Repeat([]byte{byte(of(d, 'x', 0, 0xff))}, length)}}
	}
	return d.shortValue()
}

func (d *program) shortValue() scenario.Text { return literal(string(d.randomBytes(d.length()))) }

// Span is a range of keys, most often the right way round.
func (d *program) span() (from, to scenario.Text) {
	from, to = d.key(), d.key()
	wrong := d.illegal && d.one(6) || d.one(30)
	a, errA := from.Bytes(nil)
	b, errB := to.Bytes(nil)
	if errA == nil && errB == nil && (bytes.Compare(a, b) > 0) != wrong {
		from, to = to, from
	}
	return from, to
}

// selector is any selector, about the keys of the program or at an end.
func (d *program) selector() scenario.SelectorText {
	s := scenario.SelectorText{Key: d.key(), OrEqual: d.one(2), Offset: d.rng.IntN(3)}
	switch {
	case d.one(3):
		s.Offset = d.rng.IntN(12) - 5
	case d.one(20):
		s.Offset = of(d, 100, -100, 5000, -5000) // those near 2^31 stall the storage server of a cluster
	}
	switch {
	case d.one(8):
		s.Key = nil
	case d.one(8):
		s.Key = literal("\xff")
	}
	return s
}

// surelyThere is how many system keys every cluster has. One more comes every
// ten seconds at first. A range with an end that leads further past all keys may be
// cut into other batches on a young cluster than on an old one, which shows in the
// size of the transaction.
const surelyThere = 20

// bounds are the ends of a range read: those of a range, or any selectors.
func (d *program) bounds() (begin, end scenario.SelectorText) {
	if d.one(2) {
		begin, end = d.selector(), d.selector()
		end.Offset = min(end.Offset, surelyThere)
		return begin, end
	}
	from, to := d.span()
	if d.one(3) {
		from, to = nil, literal("\xff")
	}
	return scenario.SelectorText{Key: from, Offset: 1}, scenario.SelectorText{Key: to, Offset: 1}
}

// template is text with a place for a versionstamp and the place's offset, and
// sometimes an offset that is none.
func (d *program) template(prefix string) scenario.Text {
	suffix := of(d, "", "", "x", "\x00", "y\xff")
	offset := len(prefix)
	if d.one(10) {
		offset = of(d, 0, offset+len(suffix)+1, 1<<20, -1, math.MinInt32)
	}
	all := append([]byte(prefix), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"+suffix...)
	all = binary.LittleEndian.AppendUint32(all, uint32(offset))
	if d.one(20) {
		all = all[:of(d, 0, 3, 4, 13)]
	}
	return literal(string(all))
}
