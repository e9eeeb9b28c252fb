// SPDX-License-Identifier: Apache-2.0

package deployed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

// Options say how a folder is taken over.
type Options struct {
	// Margin is how many steps after the folder's number each sequence continues.
	// It is at least the worker's batch size; the default value is 1000, the worker's
	// own.
	Margin int64
	// Next has the next number of keys that have lost their sequence in the folder, without a
	// margin.
	Next map[string]int64
	// Skip lists keys that are left out.
	Skip []string
	// Now is the clock, by which a Next is of the present period; nil means
	// time.Now.
	Now func() time.Time
}

// Plan is what a store will hold.
type Plan struct {
	Keys  []*Key
	Notes []string // for people
}

// planner makes a plan.
type planner struct {
	*Folder
	Options
	plan   Plan
	used   map[string]bool // names of files of sequences
	seen   map[string]string
	faults []error
}

// add plans a configuration.
func (p *planner) add(c config) {
	refuse := func(err error) {
		p.faults = append(p.faults, fmt.Errorf("%s: %w; mend it, or skip the key", c.file, err))
	}
	name := cmp.Or(nameOf(c.body), strings.TrimSuffix(filepath.Base(c.file), ".json"))
	if slices.Contains(p.Skip, name) {
		p.used[fileName(name)] = true
		return
	}
	r, err := idconfig.Parse(idconfig.Type(c.kind), c.body, p.Now())
	switch other := p.seen[name]; {
	case c.err != nil:
		refuse(c.err)
		return
	case err != nil:
		refuse(err)
		return
	case other != "":
		refuse(fmt.Errorf("%s has the key %q, too, and a key has one type here", other, name))
		return
	}
	p.seen[name] = c.file
	key := &Key{Config: &r.Config}
	if key.Sequences, err = p.sequencesOf(key.Config); err != nil {
		refuse(err)
		return
	}
	p.plan.Keys = append(p.plan.Keys, key)
}

func (p *planner) sequencesOf(c *idconfig.Config) ([]Sequence, error) {
	switch c.Type {
	case idconfig.TypeIncrement:
		return p.increment(c)
	case idconfig.TypeFormatted:
		return p.formatted(c)
	}
	p.plan.Notes = append(p.plan.Notes, fmt.Sprintf(
		"%s: clients have worker ids of the old worker, which this service may give to others: stop them before you switch, and start them anew afterwards", c.Key))
	return nil, nil
}

// increment returns the sequence of an increment key: the worker makes it with the
// configuration, so that one which is missing was lost.
func (p *planner) increment(c *idconfig.Config) ([]Sequence, error) {
	if next, ok := p.Next[c.Key]; ok {
		p.used[fileName(c.Key)] = true
		value, err := before(next, c.Increment.Delta)
		return []Sequence{{c.Key, value}}, err
	}
	s, ok := p.sequence(fileName(c.Key))
	if !ok {
		return nil, errors.New("its sequence is missing: give the number that comes next for the key")
	}
	value, err := p.valueAfter(s, c.Increment.Reservation(p.Margin))
	return []Sequence{{c.Key, value}}, err
}

// sequence returns the sequence of a file.
func (p *planner) sequence(name string) (sequence, bool) {
	p.used[name] = true
	s, ok := p.sequences[name]
	return s, ok
}

// valueAfter returns the value of a sequence that continues after the folder's by the
// margin, or at the bound.
func (p *planner) valueAfter(s sequence, r store.Reservation) (int64, error) {
	if s.err != nil {
		return 0, fmt.Errorf("%s: %w: give the number that comes next for the key", s.file, s.err)
	}
	value, err := before(s.current, r.Step)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.file, err)
	}
	to, err := r.Advance(value)
	if errors.Is(err, store.ErrExhausted) {
		return value, nil // it was at its end
	}
	return to, err
}

// before returns the number a step before another one.
func before(next, step int64) (int64, error) {
	value := next - step
	if (value < next) != (step > 0) {
		return 0, fmt.Errorf("%d less the step %d is no 64-bit number", next, step)
	}
	return value, nil
}

// formatted returns the sequences of a formatted key: one, or one for each period
// that the folder has. The worker makes them when they are first used.
func (p *planner) formatted(c *idconfig.Config) (list []Sequence, err error) {
	counters := c.Formatted.Format.Counters()
	if len(counters) == 0 {
		return nil, nil
	}
	period := counters[0].Reset.Period(p.Now().UTC())
	if next, ok := p.Next[c.Key]; ok {
		value, err := before(next, 1)
		if err != nil {
			return nil, err
		}
		list = append(list, Sequence{idconfig.SequenceName(c.Key, 0, period), value})
	}
	for _, name := range slices.Sorted(maps.Keys(p.sequences)) {
		of, ok := periodOf(name, fileName(c.Key), counters[0].Reset)
		if _, given := p.Next[c.Key]; !ok || given && of == period {
			p.used[name] = p.used[name] || ok
			continue
		}
		s, _ := p.sequence(name)
		value, err := p.valueAfter(s, store.Reservation{Step: 1, Count: p.Margin, Bound: math.MaxInt64})
		if err != nil {
			return nil, err
		}
		list = append(list, Sequence{idconfig.SequenceName(c.Key, 0, of), value})
	}
	return list, nil
}

// layouts are how the worker writes periods into the names of files, by resets.
var layouts = map[format.Reset]string{format.ResetYear: "2006", format.ResetMonth: "200601", format.ResetDate: "20060102"}

// periodOf reports whether a file is of the sequence of a key, and returns its
// period.
func periodOf(file, key string, reset format.Reset) (period string, ok bool) {
	layout := layouts[reset]
	if layout == "" {
		return "", file == key
	}
	text, ok := strings.CutPrefix(file, key+"_")
	t, err := time.Parse(layout, text)
	return reset.Period(t), ok && err == nil
}

// noteUnused notes sequences of keys that there are not.
func (p *planner) noteUnused() {
	for _, name := range slices.Sorted(maps.Keys(p.sequences)) {
		if !p.used[name] {
			p.plan.Notes = append(p.plan.Notes, fmt.Sprintf("%s belongs to no key and is left out", p.sequences[name].file))
		}
	}
}

// Check reports what the store has that is in the way of the plan. It returns the
// keys that the store has already, as an earlier run of the same plan left them.
func (p *Plan) Check(ctx context.Context, s store.Store) (done map[string]bool, err error) {
	done = map[string]bool{}
	var faults []error
	for _, k := range p.Keys {
		there, err := k.check(ctx, s)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", k.Config.Key, err))
		}
		done[k.Config.Key] = there
	}
	return done, errors.Join(faults...)
}

// Apply stores the plan. It returns the keys that the store had already. Nothing
// is written if anything is in the way; a run that was interrupted can be repeated.
func (p *Plan) Apply(ctx context.Context, s store.Store) (done map[string]bool, err error) {
	done, err = p.Check(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, k := range p.Keys {
		if done[k.Config.Key] {
			continue
		}
		if err := k.storeKey(ctx, s); err != nil {
			return nil, fmt.Errorf("%s: %w", k.Config.Key, err)
		}
	}
	_, err = s.Advance(ctx)
	return done, err
}
