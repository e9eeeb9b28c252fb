// SPDX-License-Identifier: Apache-2.0

package move

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

// Directory is what a directory of both ends holds, without the directories in it.
type Directory struct {
	Path     []string `json:"path"` // empty: the keys in no directory, and those of the directory layer
	Pairs    int64    `json:"pairs"`
	Bytes    int64    `json:"bytes"` // of keys and values
	Checksum string   `json:"checksum"`
}

// compare reads both ends and compares them, directory by directory.
func (m *move) compare(ctx context.Context) error {
	var t tree
	if err := m.readTree(ctx, &t); err != nil {
		return err
	}
	meter, err := m.startMeter(ctx, Comparing, 2)
	if err != nil {
		return err
	}
	from, to, err := m.sumBoth(ctx, &t, meter)
	if err != nil {
		return err
	}
	if different := differences(from, to); len(different) > 0 {
		again := m.state
		again.next = []byte{}
		err := fmt.Errorf("%w in %d directories: %s: a program has written to one of them; stop it, and run the move again, which copies again",
			ErrDiffers, len(different), strings.Join(different[:min(len(different), 10)], ", "))
		return errors.Join(err, m.setState(ctx, again, func(kv.Transaction) {}))
	}
	m.result.Directories = from
	next := m.state
	next.stage = compared
	return m.setState(ctx, next, func(kv.Transaction) {})
}

// sumBoth reads both ends at the same time. The directories of both are those of the source.
func (m *move) sumBoth(ctx context.Context, t *tree, w *meter) (from, to []Directory, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var both sync.WaitGroup
	var errs [2]error
	sum := func(i int, e End, into *[]Directory) {
		if *into, errs[i] = m.sum(ctx, e, t, w); errs[i] != nil {
			cancel()
		}
	}
	both.Go(func() { sum(0, m.from, &from) })
	both.Go(func() { sum(1, m.to, &to) })
	both.Wait()
	return from, to, errors.Join(errs[:]...)
}

// sum reads all of an end, and returns the directories that hold anything.
func (m *move) sum(ctx context.Context, e End, t *tree, w *meter) ([]Directory, error) {
	sums := make(map[int]*sum)
	for b, err := range m.batches(ctx, e, userKeys()) {
		if err != nil {
			return nil, err
		}
		for _, pair := range b.pairs {
			at := t.find(pair.Key)
			if sums[at] == nil {
				sums[at] = &sum{hash: sha256.New()}
			}
			sums[at].add(pair)
		}
		w.add(b.bytes)
	}
	var all []Directory
	for at, s := range sums {
		all = append(all, Directory{Path: t.path(at), Pairs: s.pairs, Bytes: s.bytes, Checksum: hex.EncodeToString(s.hash.Sum(nil))})
	}
	slices.SortFunc(all, func(a, b Directory) int { return slices.Compare(a.Path, b.Path) })
	return all, nil
}

// sum is the checksum of a directory as far as it was read.
type sum struct {
	hash         hash.Hash
	pairs, bytes int64
	length       [2 * binary.MaxVarintLen64]byte
}

func (s *sum) add(pair kv.KeyValue) {
	lengths := binary.AppendUvarint(binary.AppendUvarint(s.length[:0], uint64(len(pair.Key))), uint64(len(pair.Value)))
	s.hash.Write(lengths)
	s.hash.Write(pair.Key)
	s.hash.Write(pair.Value)
	s.pairs++
	s.bytes += int64(len(pair.Key) + len(pair.Value))
}

// differences says which directories of the source and the target are not the same.
func differences(from, to []Directory) (different []string) {
	both := make(map[string][2]Directory)
	for i, all := range [][]Directory{from, to} {
		for _, d := range all {
			pair := both[pathText(d.Path)]
			pair[i] = d
			both[pathText(d.Path)] = pair
		}
	}
	for path, pair := range both {
		if pair[0].Checksum != pair[1].Checksum {
			different = append(different, fmt.Sprintf("%s (%d pairs, and %d in the target)", path, pair[0].Pairs, pair[1].Pairs))
		}
	}
	slices.Sort(different)
	return different
}

func pathText(path []string) string {
	if len(path) == 0 {
		return "outside of directories"
	}
	all := make([]string, len(path))
	for i, name := range path {
		all[i] = strconv.QuoteToASCII(name)
	}
	return strings.Join(all, "/")
}

// tree finds the directory of a key.
type tree struct {
	nodes []node // by prefix, once all were added
}

// node is a directory.
type node struct {
	prefix []byte
	name   []string // its path
	up     int      // the directory around it, which is a partition; -1: none
}

// readTree reads the directories of the source, those in partitions as well. What is damaged is
// left out: its keys count as those of what is around them.
func (m *move) readTree(ctx context.Context, t *tree) error {
	for queue := []directory.Metadata{directory.Root().Metadata()}; len(queue) > 0; queue = queue[1:] {
		partitions, err := m.readPartition(ctx, t, queue[0])
		if err != nil {
			return err
		}
		queue = append(queue, partitions...)
	}
	t.sort()
	return nil
}

// readPartition adds the directories of a partition, and returns the partitions in it.
func (m *move) readPartition(ctx context.Context, t *tree, metadata directory.Metadata) (partitions []directory.Metadata, err error) {
	links, layers := make(map[string][]directory.MetadataEntry), make(map[string]string)
	for b, err := range m.batches(ctx, m.from, metadata.Keys()) {
		if err != nil {
			return nil, err
		}
		for _, pair := range b.pairs {
			switch e, err := metadata.Decode(pair); {
			case err == nil && e.Kind == directory.LinkEntry:
				links[string(e.Node)] = append(links[string(e.Node)], e)
			case err == nil && e.Kind == directory.LayerEntry:
				layers[string(e.Node)] = e.Layer
			}
		}
	}
	level := []node{{prefix: metadata.Root(), name: metadata.Path()}}
	for ; len(level) > 0; level = level[1:] {
		at := level[0]
		below := links[string(at.prefix)]
		delete(links, string(at.prefix)) // so that damaged links do not lead in a circle
		for _, e := range below {
			n := node{prefix: e.Prefix, name: append(slices.Clone(at.name), e.Name)}
			t.nodes = append(t.nodes, n)
			if layers[string(e.Prefix)] == directory.Partition {
				partitions = append(partitions, metadata.Partition(n.prefix, n.name))
				continue
			}
			level = append(level, n)
		}
	}
	return partitions, nil
}

// sort puts the directories in the order of their prefixes, and finds what is around each.
func (t *tree) sort() {
	slices.SortFunc(t.nodes, func(a, b node) int { return bytes.Compare(a.prefix, b.prefix) })
	around := -1
	for i := range t.nodes {
		for around >= 0 && !bytes.HasPrefix(t.nodes[i].prefix, t.nodes[around].prefix) {
			around = t.nodes[around].up
		}
		t.nodes[i].up, around = around, i
	}
}

// find returns the number of the innermost directory of a key; -1 for a key in none.
func (t *tree) find(key []byte) int {
	at, same := slices.BinarySearchFunc(t.nodes, key, func(n node, key []byte) int { return bytes.Compare(n.prefix, key) })
	if !same {
		at--
	}
	for at >= 0 && !bytes.HasPrefix(key, t.nodes[at].prefix) {
		at = t.nodes[at].up
	}
	return at
}

// path returns the path of a directory that find has returned.
func (t *tree) path(at int) []string {
	if at < 0 {
		return []string{}
	}
	return t.nodes[at].name
}
