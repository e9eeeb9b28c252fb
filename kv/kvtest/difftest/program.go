// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/kazahana-db/kazahana/kv/kvtest/internal/scenario"
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

// themes are the programs that Differential draws.
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
