// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/election"
	idstore "github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/kvstore"
	"github.com/kazahana-db/kazahana/placement/membership"
	"github.com/kazahana-db/kazahana/tuple"
)

// examineIDService checks the documents and sequences of the ID service.
func (x *examination) examineIDService(ctx context.Context, p *place) error {
	counter := func(_ context.Context, _ kv.ReadTransaction, pair kv.KeyValue, _ string, _ []byte) (*fault, error) {
		if len(pair.Value) != 8 {
			return newFault("idservice/bad-document", pair.Key, "a counter has %d bytes instead of 8", len(pair.Value)), nil
		}
		return nil, nil
	}
	anything := func(context.Context, kv.ReadTransaction, kv.KeyValue, string, []byte) (*fault, error) {
		return nil, nil
	}
	return x.examineLetters(ctx, p, map[string]check{
		"D": p.checkDocument, "Z": p.checkExpiry, "R": counter, "X": counter, "P": anything,
		"S": func(_ context.Context, _ kv.ReadTransaction, pair kv.KeyValue, _ string, _ []byte) (*fault, error) {
			if _, err := idstore.DecodeSequence(pair.Value); err != nil {
				return newFault("idservice/bad-document", pair.Key, "%v", err), nil
			}
			return nil, nil
		},
		"V": func(_ context.Context, _ kv.ReadTransaction, pair kv.KeyValue, _ string, _ []byte) (*fault, error) {
			if n, rest, err := tuple.ReadInt(pair.Value); err != nil || n < 1 || len(rest) > 0 {
				return newFault("idservice/bad-document", pair.Key, "it is no version of the schema"), nil
			}
			return nil, nil
		},
	})
}

// examineLeases checks the leases of machine ids, service by service.
func (x *examination) examineLeases(ctx context.Context, p *place) error {
	for r := p.keys(); ; {
		var first []byte
		err := x.read(ctx, func(tx kv.ReadTransaction, _ *batch) error {
			pairs, err := tx.GetRange(r.Selectors(), kv.RangeOptions{Limit: 1, Mode: kv.ModeExact}).Slice(ctx)
			if first = nil; len(pairs) > 0 {
				first = bytes.Clone(pairs[0].Key)
			}
			return err
		})
		if err != nil || first == nil {
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

// examineService checks the map of a service, and the times of its grants.
func (x *examination) examineService(ctx context.Context, p *place, service string) error {
	prefix := tuple.AppendString(bytes.Clone(p.prefix), service)
	ending := 0
	for after, more := []byte(nil), true; more; {
		var found lease.Examination
		err := x.read(ctx, func(tx kv.ReadTransaction, b *batch) error {
			there, err := p.exists(ctx, tx)
			if found = (lease.Examination{}); err != nil || !there {
				return err
			}
			found, err = lease.Examine(ctx, leasefdb.NewReader(tx, p.prefix, service), service, after, batchPairs, x.options.Now(), endsSoon)
			if err != nil {
				return err
			}
			b.keys = int64(found.Pairs)
			for _, f := range found.Faults {
				b.findings = append(b.findings, p.finding(leaseCodes[f.Kind], append(bytes.Clone(prefix), f.Key...), "service %q: %s", service, f.Reason))
			}
			if after == nil {
				x.checkTimes(p, b, service, found)
			}
			return nil
		})
		if err != nil {
			return err
		}
		ending += found.Ending
		after, more = bytes.Clone(found.Next), found.Next != nil
	}
	if ending > 0 && !x.options.Exclusive {
		x.add(p.finding("lease/ending", nil, "service %q: %d leases end within %v", service, ending, endsSoon))
	}
	return nil
}

// checkTimes compares the times of grants with the clock.
func (x *examination) checkTimes(p *place, b *batch, service string, found lease.Examination) {
	key := append(tuple.AppendString(bytes.Clone(p.prefix), service), 's')
	add := func(code, format string, args ...any) {
		b.findings = append(b.findings, p.finding(code, key, format, args...))
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

// examineLetters examines the pairs of a directory whose keys begin with a letter and,
// mostly, a name.
func (x *examination) examineLetters(ctx context.Context, p *place, checks map[string]check) error {
	return x.eachBatch(ctx, p.keys(), p, func(tx kv.ReadTransaction, b *batch, pairs []kv.KeyValue) error {
		for _, pair := range pairs {
			letter, rest, err := tuple.ReadString(pair.Key[len(p.prefix):])
			examine := checks[letter]
			if err != nil || examine == nil {
				b.findings = append(b.findings, p.finding("system/stray-key", pair.Key, "this library does not write it"))
				continue
			}
			name, after, err := tuple.ReadString(rest)
			if err != nil {
				name, after = "", rest
			}
			f, err := examine(ctx, tx, pair, name, after)
			if err != nil {
				return err
			}
			if f != nil {
				b.findings = append(b.findings, p.finding(f.code, f.key, "%s", f.text))
			}
		}
		return nil
	})
}

func (x *examination) examineNames(ctx context.Context, p *place) error {
	return x.examineLetters(ctx, p, nameChecks(p))
}

func (x *examination) examineElections(ctx context.Context, p *place) error {
	checks := nameChecks(p)
	checks["S"] = func(_ context.Context, _ kv.ReadTransaction, pair kv.KeyValue, _ string, rest []byte) (*fault, error) {
		if _, err := election.DecodeStandby(rest, pair.Value); err != nil {
			return newFault("name/bad-standby", pair.Key, "%v", err), nil
		}
		return nil, nil
	}
	return x.examineLetters(ctx, p, checks)
}

func (x *examination) examineMembers(ctx context.Context, p *place) error {
	checks := nameChecks(p)
	checks["M"] = func(ctx context.Context, tx kv.ReadTransaction, pair kv.KeyValue, name string, _ []byte) (*fault, error) {
		m, err := membership.DecodeMember(name, pair.Value)
		if err != nil {
			return newFault("member/bad-row", pair.Key, "%v", err), nil
		}
		at := p.pack("F", name)
		fence, err := tx.Get(at).Get(ctx)
		if err != nil {
			return nil, err
		}
		s, err := leasefdb.DecodeState(name, at, fence, nil)
		if err == nil && s.Epoch != m.Incarnation {
			return newFault("member/wrong-incarnation", pair.Key, "%q has the incarnation %d, and its lease the epoch %d", name, m.Incarnation, s.Epoch), nil
		}
		return nil, nil //nolint:nilerr // the lease is reported
	}
	checks["V"] = func(_ context.Context, _ kv.ReadTransaction, pair kv.KeyValue, _ string, _ []byte) (*fault, error) {
		if len(pair.Value) != 8 {
			return newFault("member/bad-row", pair.Key, "the version of the topology has %d bytes instead of 8", len(pair.Value)), nil
		}
		return nil, nil
	}
	return x.examineLetters(ctx, p, checks)
}

// examineSystem checks the key of page tokens.
func (x *examination) examineSystem(ctx context.Context, p *place) error {
	const size = 32
	own := p.pack("page token key")
	return x.eachBatch(ctx, p.keys(), p, func(_ kv.ReadTransaction, b *batch, pairs []kv.KeyValue) error {
		for _, pair := range pairs {
			switch {
			case !bytes.Equal(pair.Key, own):
				b.findings = append(b.findings, p.finding("system/stray-key", pair.Key, "this library does not write it"))
			case len(pair.Value) != size:
				b.findings = append(b.findings, p.finding("system/bad-page-token-key", pair.Key, "it has %d bytes instead of %d", len(pair.Value), size))
			}
		}
		return nil
	})
}

// examinePlacement checks the owners of virtual actors, ("F", kind, id), and their entries,
// ("R", kind, id, n).
func (x *examination) examinePlacement(ctx context.Context, p *place) error {
	return x.examineLetters(ctx, p, map[string]check{
		"F": func(_ context.Context, _ kv.ReadTransaction, pair kv.KeyValue, kind string, rest []byte) (*fault, error) {
			id, after, err := tuple.ReadString(rest)
			if err != nil || len(after) > 0 {
				return newFault("system/stray-key", pair.Key, "it is not the key of a row"), nil
			}
			if _, err := kvstore.DecodeRow(placement.Key{Kind: kind, ID: id}, pair.Key, pair.Value); err != nil {
				return newFault("placement/bad-row", pair.Key, "%v", err), nil
			}
			return nil, nil
		},
		"R": func(ctx context.Context, tx kv.ReadTransaction, pair kv.KeyValue, kind string, rest []byte) (*fault, error) {
			id, after, err := tuple.ReadString(rest)
			if err != nil {
				return newFault("system/stray-key", pair.Key, "it is not the key of an entry"), nil
			}
			return p.checkActor(ctx, tx, pair, kind, id, after)
		},
	})
}
