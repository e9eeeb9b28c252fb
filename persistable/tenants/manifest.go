// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// manifest is the first block of a stream: what the tenant consists of. Its payload is
// the packed tuple
//
//	(1, id, (path…), (layer…), version, lock id, ((path…), layer)…), ((directory, type, header)…))
//
// with the path of the tenant's directory and the layers of the directories above it,
// and the paths of its directories relative to it.
type manifest struct {
	id      string   // random: another one for each export
	path    []string // of the tenant when it was exported
	layers  []string // of the directories above it
	version int64    // at which the export began
	lock    string   // under which it was exported; empty: at that version
	dirs    tree     // without keys
	stores  []header
}

const streamFormat = 1

func (m *manifest) encode() ([]byte, error) {
	dirs, stores := tuple.Tuple{}, tuple.Tuple{}
	for _, b := range m.dirs {
		dirs = append(dirs, tuple.Tuple{textTuple(b.path), b.layer})
	}
	for _, h := range m.stores {
		stores = append(stores, tuple.Tuple{int64(h.dir), h.typ, h.value})
	}
	return tuple.Tuple{int64(streamFormat), m.id, textTuple(m.path), textTuple(m.layers), m.version, m.lock, dirs, stores}.Pack()
}

func textTuple(texts []string) tuple.Tuple {
	t := tuple.Tuple{}
	for _, text := range texts {
		t = append(t, text)
	}
	return t
}

// decodeManifest reads the first block of a stream. It refuses what Export never writes: the
// stream comes from outside. It checks each element as it comes, so that what is refused takes
// little memory.
func decodeManifest(payload []byte) (*manifest, error) {
	rest, err := newer.ReadFormat(payload, streamFormat)
	switch {
	case errors.Is(err, newer.Err):
		return nil, err
	case err != nil:
		return nil, errors.New("it does not begin with a list of what follows")
	}
	r := manifestReader{rest: rest, known: map[string]bool{"": true}}
	m := &r.manifest
	m.id, m.path, m.layers, m.version, m.lock = r.text(), r.texts(), r.texts(), r.number(), r.text()
	r.list(r.readDirectory)
	r.list(r.readHeader)
	if r.err == nil && (len(m.dirs) == 0 || len(m.path) == 0 || m.id == "") {
		r.err = errors.New("it has no directory of a tenant")
	}
	if r.err == nil && len(r.rest) > 0 {
		r.err = errDamagedList
	}
	return m, r.err
}

var errDamagedList = errors.New("its list of what follows is damaged")

// manifestReader reads the elements of a manifest. After an error it reads nothing.
type manifestReader struct {
	manifest
	rest  []byte
	known map[string]bool // the directories, by their joined paths
	err   error
}

// readElement reads the next element.
func readElement[T any](r *manifestReader, read func([]byte) (T, []byte, error)) (element T) {
	if r.err != nil {
		return element
	}
	var err error
	if element, r.rest, err = read(r.rest); err != nil {
		r.err = errDamagedList
	}
	return element
}

func (r *manifestReader) text() string { return readElement(r, tuple.ReadString) }

func (r *manifestReader) number() int64 { return readElement(r, tuple.ReadInt) }

// listCode begins a list, and endCode ends it.
var listCode, endCode = tuple.Tuple{tuple.Tuple{}}.MustPack()[0], tuple.Tuple{tuple.Tuple{}}.MustPack()[1]

// list reads a list. It calls read for each of its elements.
func (r *manifestReader) list(read func()) {
	r.skip(listCode)
	for r.err == nil && len(r.rest) > 0 && r.rest[0] != endCode {
		read()
	}
	r.skip(endCode)
}

// skip skips a code.
func (r *manifestReader) skip(code byte) {
	switch {
	case r.err != nil:
	case len(r.rest) == 0 || r.rest[0] != code:
		r.err = errDamagedList
	default:
		r.rest = r.rest[1:]
	}
}

// maxDepth is how many elements a path may have.
const maxDepth = 4096

func (r *manifestReader) texts() []string {
	texts := []string{}
	r.list(func() {
		if texts = append(texts, r.text()); len(texts) > maxDepth {
			r.err = errDamagedList
		}
	})
	return texts
}

// readDirectory reads (path, layer). The directories must be a tree in its order.
func (r *manifestReader) readDirectory() {
	r.skip(listCode)
	b := branch{path: r.texts(), layer: r.text()}
	r.skip(endCode)
	switch {
	case r.err != nil:
	case len(r.dirs) > 0:
		r.err = checkBranch(b, r.known)
	case len(b.path) > 0:
		r.err = errors.New("it has no directory of a tenant")
	}
	r.dirs = append(r.dirs, b)
}

// readHeader reads (directory, type, header), which must be the header of a store.
func (r *manifestReader) readHeader() {
	r.skip(listCode)
	dir, h := r.number(), header{typ: r.text(), value: readElement(r, tuple.ReadBytes)}
	r.skip(endCode)
	if r.err != nil {
		return
	}
	if dir < 0 || dir >= int64(len(r.dirs)) || r.dirs[dir].isPartition() {
		r.err = fmt.Errorf("the store of %q is in no directory", h.typ)
		return
	}
	if _, err := format.DecodeCatalog(h.value); err != nil {
		r.err = fmt.Errorf("the store of %q: %w", h.typ, err)
	}
	h.dir = int(dir)
	r.stores = append(r.stores, h)
}

// checkBranch adds a directory to those that are known, by their joined paths.
func checkBranch(b branch, known map[string]bool) error {
	if len(b.path) == 0 {
		return errors.New("it has two directories of a tenant")
	}
	for _, name := range b.path {
		if err := checkElement(name); err != nil {
			return fmt.Errorf("the directory %s: %w", pathText(b.path), err)
		}
	}
	key, parent := joined(b.path), joined(b.path[:len(b.path)-1])
	if known[key] || !known[parent] {
		return fmt.Errorf("the directory %s comes twice, or before the one that it is in", pathText(b.path))
	}
	known[key] = true
	return nil
}

func joined(path []string) string {
	var b strings.Builder
	for _, name := range path {
		fmt.Fprintf(&b, "%d:%s", len(name), name)
	}
	return b.String()
}

func checkElement(name string) error {
	if name == "" || len(name) > maxName || strings.ToValidUTF8(name, "") != name {
		return errors.New("a name must be 1 to 4096 bytes of UTF-8")
	}
	return nil
}

// expects returns the layers of the directories above the tenants of a set, as far as
// they are known from the stream.
func (m *manifest) expects(s *Set) (all []directory.Expect) {
	if len(m.layers) != len(s.parent) {
		return nil
	}
	for i, layer := range m.layers {
		all = append(all, directory.ElementAs(i, layer))
	}
	return all
}

// fingerprint tells apart tenants that have other directories or stores, even if they are at
// the same paths. It is stored, so it does not depend on what a version of Go calls printable.
func (m *manifest) fingerprint() string {
	sum := sha256.New()
	for _, b := range m.dirs {
		fmt.Fprintf(sum, "%+q %+q %x\n", b.path, b.layer, b.keys.Begin)
	}
	for _, h := range m.stores {
		fmt.Fprintf(sum, "%d %+q %x\n", h.dir, h.typ, h.value)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// checkArrival returns an [ErrRename] if an index has a {Field} of which the stream's path
// and the new one say another name. The ends of the paths are those of the tenant; a
// {Field} that the new path does not have at all has another name, too.
func (m *manifest) checkArrival(to []string) error {
	return checkNames(m.stores, func(depth int) bool {
		at := len(to) - len(m.path) + depth
		return depth < len(m.path) && (at < 0 || m.path[depth] != to[at])
	})
}

// versionIndex returns the name of an index that is ordered by versions of the database,
// if the tenant has one.
func (m *manifest) versionIndex() (string, error) {
	for _, h := range m.stores {
		c, err := format.DecodeCatalog(h.value)
		if err != nil {
			return "", err
		}
		for _, ix := range c.Indexes() {
			if d, err := index.ParseLayout(ix.KeyName, ix.Layout); err == nil && d.Kind == index.Version && ix.State != index.Disabled {
				return ix.KeyName, nil
			}
		}
	}
	return "", nil
}

// checkHeader refuses a store's header that is not the one of the manifest.
func (m *manifest) checkHeader(dir int, pair kv.KeyValue) error {
	typ, is := headers.ParseKey(pair.Key)
	if !is {
		return nil
	}
	for _, h := range m.stores {
		if h.dir == dir && h.typ == typ && bytes.Equal(h.value, pair.Value) {
			return nil
		}
	}
	return fmt.Errorf("the header of the store of %q is not the one at the begin of the stream", typ)
}

// block is some pairs of one directory, read at one version. Its payload is the number
// of the directory, the version, and for each pair the length and the bytes of key and
// value; numbers and lengths are uvarints. Keys are relative to the directory's prefix
// and ascend.
type block struct {
	dir     int
	version int64
	pairs   []kv.KeyValue
}

// blockBytes is about how many bytes of keys and values a block has: what one
// transaction writes.
const blockBytes = 400_000

// pairBytes is at least what a transaction counts for a pair besides its key and its value.
const pairBytes = 64

// size returns the bytes of keys and values.
func (b *block) size() (n int64) {
	for _, pair := range b.pairs {
		n += int64(len(pair.Key) + len(pair.Value))
	}
	return n
}

// last returns the last key.
func (b *block) last() []byte { return b.pairs[len(b.pairs)-1].Key }

func (b *block) encode() []byte {
	payload := binary.AppendUvarint(nil, uint64(b.dir))
	payload = binary.AppendUvarint(payload, uint64(b.version))
	for _, pair := range b.pairs {
		payload = appendBytes(appendBytes(payload, pair.Key), pair.Value)
	}
	return payload
}

func appendBytes(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

var (
	errCutOff   = errors.New("it ends within a number, a key or a value")
	errTooLarge = fmt.Errorf("it has more pairs than one transaction can write: with %d bytes for each pair they have more than %d", pairBytes, kv.MaxTransactionSize)
)

// decodeBlock reads a block of a stream. It counts the pairs as they come: the least ones take 2
// bytes, and many times as much memory.
func decodeBlock(payload []byte) (*block, error) {
	dir, n := binary.Uvarint(payload)
	if n <= 0 || dir > 1<<30 {
		return nil, errCutOff
	}
	version, m := binary.Uvarint(payload[n:])
	if m <= 0 || version > 1<<62 {
		return nil, errCutOff
	}
	b := &block{dir: int(dir), version: int64(version)}
	size := 0
	for rest := payload[n+m:]; len(rest) > 0; {
		var pair kv.KeyValue
		var ok1, ok2 bool
		pair.Key, rest, ok1 = cutBytes(rest)
		pair.Value, rest, ok2 = cutBytes(rest)
		if !ok1 || !ok2 {
			return nil, errCutOff
		}
		if size += len(pair.Key) + len(pair.Value) + pairBytes; size > kv.MaxTransactionSize {
			return nil, errTooLarge
		}
		b.pairs = append(b.pairs, pair)
	}
	return b, nil
}

func cutBytes(b []byte) (text, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	end := n + int(size)
	return b[n:end:end], b[end:], true
}

// check returns what is wrong with a block that comes after the position p.
func (b *block) check(m *manifest, p position) error {
	if b.dir >= len(m.dirs) || m.dirs[b.dir].isPartition() {
		return fmt.Errorf("its pairs are of the directory %d, which cannot have any", b.dir)
	}
	if len(b.pairs) == 0 || b.dir < p.dir {
		return errors.New("it is empty or out of order")
	}
	last, any := p.last, b.dir == p.dir && p.last != nil
	for i, pair := range b.pairs {
		if any && bytes.Compare(pair.Key, last) <= 0 {
			return fmt.Errorf("its pair %d is out of order", i)
		}
		if len(pair.Key) > kv.MaxKeySize || len(pair.Value) > kv.MaxValueSize {
			return fmt.Errorf("its pair %d has a key of %d and a value of %d bytes; at most %d and %d are possible", i, len(pair.Key), len(pair.Value), kv.MaxKeySize, kv.MaxValueSize)
		}
		if err := m.checkHeader(b.dir, pair); err != nil {
			return fmt.Errorf("its pair %d: %w", i, err)
		}
		last, any = pair.Key, true
	}
	return nil
}

// position is how far a tenant was read: the last pair.
type position struct {
	dir  int
	last []byte // nil: none of that directory
}
