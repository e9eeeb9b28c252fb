// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/tuple"
)

// examineLeases checks the leases of machine ids, service by service.
func (x *examination) examineLeases(ctx context.Context, p *place) error {
	for r := p.keys(); ; {
		var first []byte
		err := x.read(ctx, func(b *batch) error {
			pair, err := b.first(ctx, r)
			first = pair.Key
			return err
		})
		switch {
		case isTooSlow(err):
			x.addNotExamined(p.finding(NotExamined, r.Begin, "the leases from this key on cannot be read: %v", err))
			return nil
		case err != nil || first == nil:
			return err
		}
		service, rest, err := tuple.ReadString(first[len(p.prefix):])
		if err != nil || len(rest) == 0 {
			x.add(p.finding("system/stray-key", first, "it is of no service"))
			r.Begin = kv.Successor(first)
			continue
		}
		if err := x.examineService(ctx, p, service); err != nil {
			return err
		}
		r.Begin = kv.PrefixRange(tuple.AppendString(bytes.Clone(p.prefix), service)).End
	}
}

// examineService checks the map of a service, and the times of its grants. A position is
// the last key of its map that was examined.
func (x *examination) examineService(ctx context.Context, p *place, service string) error {
	ending := 0
	_, err := x.run(ctx, pass{
		place: p, name: "the leases of the service " + service, at: []byte{},
		examine: func(ctx context.Context, b *batch, at []byte) ([]byte, error) {
			var after []byte
			if len(at) > 0 {
				after = at
			}
			found, err := lease.Examine(ctx, leasefdb.NewReader(b.tx, p.prefix, service), service, after, b.most, x.options.Now(), endsSoon)
			if err != nil {
				return nil, err
			}
			b.units, b.keys = found.Pairs, int64(found.Pairs)
			b.then(func() { ending += found.Ending })
			x.reportLeases(p, b, service, found, after == nil)
			return bytes.Clone(found.Next), nil
		},
	})
	if ending > 0 && !x.options.Exclusive {
		x.add(p.finding("lease/ending", nil, "service %q: %d leases end within %v", service, ending, endsSoon))
	}
	return err
}

// reportLeases reports what a batch of a service has found.
func (x *examination) reportLeases(p *place, b *batch, service string, found lease.Examination, first bool) {
	prefix := tuple.AppendString(bytes.Clone(p.prefix), service)
	for _, f := range found.Faults {
		code := leaseCodes[f.Kind]
		if f.Kind == lease.FaultQueue && f.Key[0] == 'q' {
			code = "lease/stray-entry"
		}
		b.report(p.finding(code, append(bytes.Clone(prefix), f.Key...), "service %q: %s", service, f.Reason))
	}
	if first {
		x.checkTimes(p, b, service, found)
	}
}

// checkTimes compares the times of grants with the clock.
func (x *examination) checkTimes(p *place, b *batch, service string, found lease.Examination) {
	key := append(tuple.AppendString(bytes.Clone(p.prefix), service), 's')
	add := func(code, format string, args ...any) {
		b.report(p.finding(code, key, format, args...))
	}
	now := x.options.Now()
	switch {
	case !found.Known:
		return
	case !found.Settled:
		add("lease/unsettled", "service %q: it is being made or removed: nothing is granted", service)
	case found.Latest.After(now.Add(clockSkew)):
		add("clock/ahead", "service %q: leases were granted at %v, and the clock of this machine says %v", service, found.Latest, now.UTC())
	case found.Claim.After(now.Add(clockSkew)):
		add("clock/ahead", "service %q: a server granted leases at %v, and the clock of this machine says %v", service, found.Claim, now.UTC())
	}
}
