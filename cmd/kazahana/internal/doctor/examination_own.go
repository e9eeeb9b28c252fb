// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/election"
	idstore "github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/kv"
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
				return newFault("idservice/bad-document", pair.Key, "it is no version of the schema"), nil
			}
			return nil, nil
		},
	})
}

// examineLetters examines the pairs of a directory whose keys begin with a letter and,
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
		at := p.pack("F", name)
		fence, err := b.value(ctx, at)
		if err != nil {
			return nil, err
		}
		s, err := leasefdb.DecodeState(name, at, fence, nil)
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
			if _, err := kvstore.DecodeRow(placement.Key{Kind: kind, ID: id}, pair.Key, pair.Value); err != nil {
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
