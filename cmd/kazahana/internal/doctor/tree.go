// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

// tree is what the directory layer knows of the directories in the root, or in a partition.
type tree struct {
	directory.Metadata
	path    []string // of the partition
	layers  []string // of the path's elements
	nodes   map[string]*node
	version bool  // the key of the format is there
	window  int64 // the newest of the allocator
	taken   map[int64]bool
	batch   *batch
}

// gaps returns the parts of a range between others.
func gaps(at kv.KeyRange, owned []kv.KeyRange) (all []kv.KeyRange) {
	sortRanges(owned)
	for _, r := range owned {
		if bytes.Compare(at.Begin, r.Begin) < 0 {
			all = append(all, kv.KeyRange{Begin: at.Begin, End: r.Begin})
		}
		if bytes.Compare(at.Begin, r.End) < 0 {
			at.Begin = r.End
		}
	}
	if bytes.Compare(at.Begin, at.End) < 0 {
		all = append(all, at)
	}
	return all
}

// longestPrefix is the length of the longest prefix that the allocator makes.
const longestPrefix = 9

// readAll reads the metadata, at one version.
func (t *tree) readAll(ctx context.Context) error {
	for pair, err := range t.batch.pairs(ctx, t.Keys(), kv.RangeOptions{Mode: kv.ModeWantAll}) {
		if err != nil {
			return err
		}
		t.batch.keys++
		t.add(kv.KeyValue{Key: bytes.Clone(pair.Key), Value: bytes.Clone(pair.Value)})
	}
	return nil
}

// add adds a pair of the metadata.
func (t *tree) add(pair kv.KeyValue) {
	e, err := t.Decode(pair)
	if err != nil {
		t.addError(e.Kind, pair, err)
		t.version = t.version || bytes.Equal(pair.Key, t.VersionKey())
		return
	}
	switch e.Kind {
	case directory.VersionEntry:
		t.version = true
	case directory.LayerEntry:
		n := t.node(e.Node)
		n.exists, n.layer = true, e.Layer
	case directory.LinkEntry:
		n := t.node(e.Prefix)
		n.links = append(n.links, link{pair.Key, string(e.Node), e.Name})
	case directory.WindowEntry:
		t.window = max(t.window, e.Number)
	case directory.AllocationEntry:
		t.taken[e.Number] = true
	}
}

// addError reports a pair that cannot be decoded, by what its key is.
func (t *tree) addError(kind directory.EntryKind, pair kv.KeyValue, err error) {
	var corrupt *directory.CorruptError
	reason := err.Error()
	if errors.As(err, &corrupt) {
		reason = corrupt.Reason
	}
	code := "directory/bad-metadata"
	switch {
	case errors.Is(err, directory.ErrVersion), bytes.Equal(pair.Key, t.VersionKey()):
		code = "directory/version"
	case kind == directory.LinkEntry:
		code = "directory/bad-link"
	case kind == directory.WindowEntry, kind == directory.AllocationEntry:
		code = "directory/bad-allocation"
	}
	t.report(code, t.path, pair.Key, "%s", reason)
}

func (t *tree) report(code string, path []string, key []byte, format string, args ...any) {
	t.batch.report(newFinding(code, path, t.Root(), key, format, args...))
}

func (t *tree) node(prefix []byte) *node {
	n := t.nodes[string(prefix)]
	if n == nil {
		n = &node{prefix: string(prefix)}
		t.nodes[string(prefix)] = n
	}
	return n
}

// sorted returns the directories in the order of their prefixes.
func (t *tree) sorted() []*node {
	all := make([]*node, 0, len(t.nodes))
	for _, n := range t.nodes {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b *node) int { return bytes.Compare([]byte(a.prefix), []byte(b.prefix)) })
	return all
}

// ownerOf returns the prefix of the directory that owns a key; nil if there is none, or none
// any more.
func (t *tree) ownerOf(ctx context.Context, b *batch, key []byte) ([]byte, error) {
	for end := len(t.Content()) + 1; end <= len(key) && end <= len(t.Content())+longestPrefix; end++ {
		value, err := b.value(ctx, t.LayerKey(key[:end]))
		if err != nil || value != nil {
			return key[:end], err
		}
	}
	return nil, nil
}
