// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"time"

	"github.com/kazahana-db/kazahana/election"
	idstore "github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
	"github.com/kazahana-db/kazahana/tuple"
)

// examineIDService checks the documents and sequences of the ID service.
func (x *examination) examineIDService(ctx context.Context, p *place) error {
	counter := func(_ context.Context, _ *batch, pair kv.KeyValue, _ string, _ []byte) (*fault, error) {
		if len(pair.Value) != 8 {
			return newFault("idservice/bad-document", pair.Key, "a counter has %d bytes instead of 8", len(pair.Value)), nil
		}
		return nil, nil
	}
	anything := func(context.Context, *batch, kv.KeyValue, string, []byte) (*fault, error) {
		return nil, nil
	}
	return x.examineLetters(ctx, p, map[string]check{
		"D": p.checkDocument, "Z": p.checkExpiry, "R": counter, "X": counter, "P": anything,
		"S": func(_ context.Context, _ *batch, pair kv.KeyValue, _ string, _ []byte) (*fault, error) {
			if _, err := idstore.DecodeSequence(pair.Value); err != nil {
				return newFault("idservice/bad-document", pair.Key, "%v", err), nil
			}
			return nil, nil
		},
		"V": func(_ context.Context, _ *batch, pair kv.KeyValue, _ string, _ []byte) (*fault, error) {
			if n, rest, err := tuple.ReadInt(pair.Value); err != nil || n < 1 || len(rest) > 0 {
				return newFault("idservice/bad-document", pair.Key, "it is not a version of the schema"), nil
			}
			return nil, nil
		},
	})
}

// examineLetters examines the pairs of a directory with keys that begin with a letter and,
// mostly, a name.
func (x *examination) examineLetters(ctx context.Context, p *place, checks map[string]check) error {
	return x.eachPair(ctx, p, p.keys(), func(ctx context.Context, b *batch, pair kv.KeyValue) error {
		letter, rest, err := tuple.ReadString(pair.Key[len(p.prefix):])
		examine := checks[letter]
		if err != nil || examine == nil {
			b.report(p.finding("system/stray-key", pair.Key, "this library does not write it"))
			return nil
		}
		name, after, err := tuple.ReadString(rest)
		if err != nil {
			name, after = "", rest
		}
		f, err := examine(ctx, b, pair, name, after)
		if err == nil && f != nil {
			b.report(p.finding(f.code, f.key, "%s", f.text))
		}
		return err
	})
}

func (x *examination) examineNames(ctx context.Context, p *place) error {
	return x.examineLetters(ctx, p, nameChecks(p))
}

func (x *examination) examineElections(ctx context.Context, p *place) error {
	checks := nameChecks(p)
	checks["S"] = func(_ context.Context, _ *batch, pair kv.KeyValue, _ string, rest []byte) (*fault, error) {
		if _, err := election.DecodeStandby(rest, pair.Value); err != nil {
			return newFault("name/bad-standby", pair.Key, "%v", err), nil
		}
		return nil, nil
	}
	return x.examineLetters(ctx, p, checks)
}

func (x *examination) examineMembers(ctx context.Context, p *place) error {
	checks := nameChecks(p)
	checks["M"] = func(ctx context.Context, b *batch, pair kv.KeyValue, name string, _ []byte) (*fault, error) {
		m, err := membership.DecodeMember(name, pair.Value)
		if err != nil {
			return newFault("member/bad-row", pair.Key, "%v", err), nil
		}
		fence, err := b.value(ctx, p.pack("F", name))
		if err != nil {
			return nil, err
		}
		s, err := leasefdb.DecodeState(name, fence, nil)
		if err == nil && s.Epoch != m.Incarnation {
			return newFault("member/wrong-incarnation", pair.Key, "%q has the incarnation %d, and its lease the epoch %d", name, m.Incarnation, s.Epoch), nil
		}
		return nil, nil //nolint:nilerr // the lease is reported
	}
	checks["C"] = func(_ context.Context, _ *batch, pair kv.KeyValue, _ string, _ []byte) (*fault, error) {
		if n := len(pair.Value); n != membership.ClusterIDSize {
			return newFault("member/bad-cluster-id", pair.Key, "the id of the cluster has %d bytes instead of %d", n, membership.ClusterIDSize), nil
		}
		return nil, nil
	}
	checks["V"] = func(_ context.Context, _ *batch, pair kv.KeyValue, _ string, _ []byte) (*fault, error) {
		if len(pair.Value) != 8 {
			return newFault("member/bad-version", pair.Key, "the version of the topology has %d bytes instead of 8", len(pair.Value)), nil
		}
		return nil, nil
	}
	return x.examineLetters(ctx, p, checks)
}

// examineSystem checks the key of page tokens.
func (x *examination) examineSystem(ctx context.Context, p *place) error {
	const size = 32
	own, needs := p.pack("page token key"), p.pack("needs")
	return x.eachPair(ctx, p, p.keys(), func(_ context.Context, b *batch, pair kv.KeyValue) error {
		switch {
		case bytes.Equal(pair.Key, needs):
		case !bytes.Equal(pair.Key, own):
			b.report(p.finding("system/stray-key", pair.Key, "this library does not write it"))
		case len(pair.Value) != size:
			b.report(p.finding("system/bad-page-token-key", pair.Key, "it has %d bytes instead of %d", len(pair.Value), size))
		}
		return nil
	})
}

// examinePlacement checks the owners of virtual actors, ("F", kind, id), and their entries,
// ("R", kind, id, n).
func (x *examination) examinePlacement(ctx context.Context, p *place) error {
	return x.examineLetters(ctx, p, map[string]check{
		"F": func(_ context.Context, _ *batch, pair kv.KeyValue, kind string, rest []byte) (*fault, error) {
			id, after, err := tuple.ReadString(rest)
			if err != nil || len(after) > 0 {
				return newFault("system/stray-key", pair.Key, "it is not the key of a row"), nil
			}
			if _, err := kvstore.DecodeRow(placement.Key{Kind: kind, ID: id}, pair.Value); err != nil {
				return newFault("placement/bad-row", pair.Key, "%v", err), nil
			}
			return nil, nil
		},
		"R": func(ctx context.Context, b *batch, pair kv.KeyValue, kind string, rest []byte) (*fault, error) {
			id, after, err := tuple.ReadString(rest)
			if err != nil {
				return newFault("system/stray-key", pair.Key, "it is not the key of an entry"), nil
			}
			return p.checkActor(ctx, b, pair, kind, id, after)
		},
	})
}

// check examines a pair of a directory; letter and name are the first elements of the key,
// rest follows. It may read more in b.
type check func(ctx context.Context, b *batch, pair kv.KeyValue, name string, rest []byte) (*fault, error)

// checkParts checks the chunks after a head.
func checkParts(ctx context.Context, b *batch, head []byte, size int) (*fault, error) {
	left, number := max(size-idstore.ChunkSize, 0), int64(0)
	for chunk, err := range b.pairs(ctx, chunkRange(head), kv.RangeOptions{Mode: kv.ModeWantAll}) {
		if err != nil {
			return nil, err
		}
		number++
		n, _, err := tuple.ReadInt(chunk.Key[len(head):])
		if err != nil || n != number || len(chunk.Value) != min(left, idstore.ChunkSize) || left == 0 {
			return newFault("idservice/missing-chunk", chunk.Key, "it is not chunk %d of a document of %d bytes", number, size), nil
		}
		left -= len(chunk.Value)
	}
	if left > 0 {
		return newFault("idservice/missing-chunk", head, "%d of its %d bytes are missing", left, size), nil
	}
	return nil, nil
}

// leaseCodes are the codes of the faults that package lease finds.
var leaseCodes = map[string]string{
	lease.FaultNewer: Newer, lease.FaultRecord: "lease/bad-record", lease.FaultPlace: "lease/bad-place", lease.FaultOverlap: "lease/overlap",
	lease.FaultGap: "lease/gap", lease.FaultFrontier: "lease/frontier", lease.FaultQueue: "lease/queue",
	lease.FaultRequest: "lease/request", lease.FaultCharge: "lease/charge",
}

// endsSoon is when leases that are not renewed are worth a notice, and clockSkew by how much
// clocks may differ.
const (
	endsSoon  = time.Minute
	clockSkew = time.Minute
)

// nameChecks are those of named leases: ("F", name) and ("N", name).
func nameChecks(p *place) map[string]check {
	return map[string]check{
		"F": func(ctx context.Context, b *batch, pair kv.KeyValue, name string, rest []byte) (*fault, error) {
			if len(rest) > 0 {
				return newFault("system/stray-key", pair.Key, "%d bytes follow the name", len(rest)), nil
			}
			renewal, err := b.value(ctx, p.pack("N", name))
			if err != nil {
				return nil, err
			}
			_, err = leasefdb.DecodeState(name, pair.Value, renewal)
			switch {
			case err != nil:
				return newFault("name/bad-state", pair.Key, "%v", err), nil
			case renewal == nil:
				return newFault("name/missing-renewal", pair.Key, "%q has no counter of renewals", name), nil
			}
			return nil, nil
		},
		"N": func(ctx context.Context, b *batch, pair kv.KeyValue, name string, rest []byte) (*fault, error) {
			if len(rest) > 0 || len(pair.Value) != 8 {
				return newFault("name/bad-state", pair.Key, "it is not a counter of 8 bytes"), nil
			}
			fence, err := b.value(ctx, p.pack("F", name))
			if err == nil && fence == nil {
				return newFault("name/missing-fence", pair.Key, "%q was renewed, and has no epoch", name), nil
			}
			return nil, err
		},
	}
}

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
			x.add(p.finding("system/stray-key", first, "it belongs to no service"))
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
			found, err := lease.Examine(ctx, leasefdb.NewReader(b.tx, p.prefix, service), lease.ExamineOptions{
				Service: service, After: after, Limit: b.most, Now: x.options.Now(), Soon: endsSoon,
			})
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
