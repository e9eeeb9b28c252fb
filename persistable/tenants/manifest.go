// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
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

// decodeManifest reads the first block of a stream. It refuses what Export never
// writes: the stream comes from outside.
func decodeManifest(payload []byte) (*manifest, error) {
	t, err := tuple.Unpack(payload)
	if err != nil || len(t) == 0 {
		return nil, errors.New("it does not begin with a list of what follows")
	}
	if f, ok := t[0].(int64); ok && f > streamFormat {
		return nil, fmt.Errorf("it is of format %d; this program knows formats up to %d: update the program", f, streamFormat)
	}
	m := &manifest{}
	if len(t) != 8 || t[0] != int64(streamFormat) || !m.read(t) {
		return nil, errors.New("its list of what follows is damaged")
	}
	return m, m.check()
}

func (m *manifest) read(t tuple.Tuple) bool {
	var ok [7]bool
	m.id, ok[0] = t[1].(string)
	m.path, ok[1] = readTexts(t[2])
	m.layers, ok[2] = readTexts(t[3])
	m.version, ok[3] = t[4].(int64)
	m.lock, ok[4] = t[5].(string)
	ok[5] = readAll(t[6], m.readDirectory)
	ok[6] = readAll(t[7], m.readHeader)
	return !slices.Contains(ok[:], false)
}

func readAll(element any, read func(tuple.Tuple) bool) bool {
	list, ok := element.(tuple.Tuple)
	for _, e := range list {
		t, is := e.(tuple.Tuple)
		ok = ok && is && read(t)
	}
	return ok
}

func readTexts(element any) (texts []string, ok bool) {
	list, ok := element.(tuple.Tuple)
	texts = []string{}
	for _, e := range list {
		text, is := e.(string)
		ok = ok && is
		texts = append(texts, text)
	}
	return texts, ok
}

func (m *manifest) readDirectory(t tuple.Tuple) bool {
	if len(t) != 2 {
		return false
	}
	path, ok1 := readTexts(t[0])
	layer, ok2 := t[1].(string)
	m.dirs = append(m.dirs, branch{path: path, layer: layer})
	return ok1 && ok2
}

func (m *manifest) readHeader(t tuple.Tuple) bool {
	if len(t) != 3 {
		return false
	}
	dir, ok1 := t[0].(int64)
	typ, ok2 := t[1].(string)
	value, ok3 := t[2].([]byte)
	m.stores = append(m.stores, header{int(dir), typ, value})
	return ok1 && ok2 && ok3
}

// check refuses directories that are not a tree in its order, and headers that no
// store has.
func (m *manifest) check() error {
	if len(m.dirs) == 0 || len(m.dirs[0].path) != 0 || len(m.path) == 0 || m.id == "" {
		return errors.New("it has no directory of a tenant")
	}
	known := map[string]bool{"": true}
	for _, b := range m.dirs[1:] {
		if err := checkBranch(b, known); err != nil {
			return err
		}
	}
	for _, h := range m.stores {
		if h.dir < 0 || h.dir >= len(m.dirs) || m.dirs[h.dir].isPartition() {
			return fmt.Errorf("the store of %q is in no directory", h.typ)
		}
		if _, err := format.DecodeCatalog(h.value); err != nil {
			return fmt.Errorf("the store of %q: %w", h.typ, err)
		}
	}
	return nil
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

// layersFor returns the layers of the directories above the tenants of a set, as far as
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
// the same paths.
func (m *manifest) fingerprint() string {
	sum := sha256.New()
	for _, b := range m.dirs {
		fmt.Fprintf(sum, "%q %q %x\n", b.path, b.layer, b.keys.Begin)
	}
	for _, h := range m.stores {
		fmt.Fprintf(sum, "%d %q %x\n", h.dir, h.typ, h.value)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// checkArrival returns a *[RenameError] if an index has a {Field} of which the stream's path
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
