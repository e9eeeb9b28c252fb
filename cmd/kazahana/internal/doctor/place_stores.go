// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"slices"
)

// readOutline finds the letters and names of the directory's keys: one read for each.
func (p *place) readOutline(ctx context.Context, b *batch) (*outline, error) {
	o := &outline{headers: map[string][]byte{}, names: map[string][]string{}, first: map[string][]byte{}}
	for r := p.keys(); ; {
		pair, err := b.first(ctx, r)
		if err != nil || pair.Key == nil {
			return o, err
		}
		r.Begin = o.add(p, pair)
	}
}

// newStore returns the store of a type; nil if its header cannot be used.
func (p *place) newStore(typ string, o *outline, add func(Finding)) *store {
	key := p.pack(letterSystem, typ)
	value, has := o.headers[typ]
	if !has {
		if slices.Contains(o.names[letterRecord], typ) {
			f := p.finding("store/missing-header", key, "there are records of the type %s, and no header", typ)
			f.Type = typ
			add(f)
		} else {
			add(p.finding("store/stray-key", o.first[letterSystem+typ], "there is no header and no record of the type %s", typ))
		}
		return nil
	}
	s := &store{place: p, typ: typ}
	if err := s.load(value); err != nil {
		add(s.finding("store/bad-header", key, "%v", reasonOf(err)))
		return nil
	}
	if !slices.Contains(o.names[letterRecord], typ) {
		add(s.finding("store/empty", nil, "there are no records of the type %s", typ))
	}
	if s.decoder.Moved() != nil {
		add(s.finding("store/wrong-directory", nil, "%v", s.decoder.Moved()))
	}
	s.checkIndexes(add)
	return s
}
