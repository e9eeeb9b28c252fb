// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/kv"
)

// place is where the records of one type are for one list of directory
// arguments. All stores of the DB with this type and these arguments share it.
type place struct {
	db          *DB
	record      *record
	typ         string
	scatter     index.Shards   // of a new store
	lock        *schema.Schema // of the program
	definitions []*index.Definition
	args        []string
	path        []string
	expects     []directory.Expect
	known       atomic.Pointer[openStore] // the last committed state that was read
}

// is reports whether both are the same place of one DB, of which two may be in use if a cache has dropped the first.
func (p *place) is(other *place) bool {
	return p == other || p != nil && other != nil && p.typ == other.typ && slices.Equal(p.path, other.path)
}

// maxArgument bounds a directory argument, so that the keys of the directory
// layer stay within their limit.
const maxArgument = 4096

// newPlace checks the arguments of a store.
func newPlace(db *DB, r *record, args []string) (*place, error) {
	lock, err := r.Parsed()
	if err != nil {
		return nil, err
	}
	r.args = slices.Clone(args)
	p := &place{db: db, record: r, typ: r.Type, scatter: r.Scatter, lock: lock, args: r.args}
	for i := range r.Indexes {
		p.definitions = append(p.definitions, &r.Indexes[i])
	}
	next := 0
	for i, e := range r.Directory {
		name := e.Name
		if e.Field != "" {
			if next == len(args) {
				return nil, &DirectoryError{Type: r.Type, Field: e.Field, Reason: "an argument for this {Field} is missing"}
			}
			name = args[next]
			next++
		}
		p.path = append(p.path, name)
		if e.Layer != "" {
			p.expects = append(p.expects, directory.ElementAs(i, e.Layer))
		}
		if reason := cmp.Or(checkName(name), p.checkZero(i, name)); reason != "" {
			return nil, &DirectoryError{Type: r.Type, Path: p.path, Field: e.Field, Reason: reason}
		}
	}
	if next < len(args) {
		return nil, &DirectoryError{Type: r.Type, Path: p.path, Reason: fmt.Sprintf("%d arguments for %d {Field}s", len(args), next)}
	}
	if err := p.addTag(); err != nil {
		return nil, err
	}
	return p, nil
}

// addTag gives the operations at the place the tag of its directory.
func (p *place) addTag() error {
	if p.db.options.TagOf == nil {
		return nil
	}
	tag := p.db.options.TagOf(slices.Clone(p.path))
	if tag == "" {
		return nil
	}
	o := kv.TransactionOptions{Tags: []string{tag}}
	if err := o.Validate(); err != nil {
		return &DirectoryError{Type: p.typ, Path: p.path, Reason: "Options.TagOf: " + err.Error()}
	}
	p.db = p.db.With(o)
	return nil
}

func checkName(name string) string {
	switch {
	case name == "":
		return "the name is empty: was the variable set?"
	case !utf8.ValidString(name):
		return "the name is not valid UTF-8"
	case len(name) > maxArgument:
		return fmt.Sprintf("the name has %d bytes; at most %d are possible: use a shorter name, or a hash of it", len(name), maxArgument)
	}
	return ""
}

// bound is an element of a directory that is a {Field}, by its stored name.
var bound = regexp.MustCompile(`^\{(\w+)\}`)

// checkZero refuses the i-th element of the path if it is the number 0 or a zero
// id: probably, as with an empty string, a variable was not set.
func (p *place) checkZero(i int, name string) string {
	if name != "0" {
		return ""
	}
	block := p.lock.Block(p.typ)
	if block == nil {
		return ""
	}
	elements := strings.Split(block.Directory, "/")
	if i >= len(elements) {
		return ""
	}
	match := bound.FindStringSubmatch(elements[i])
	if match == nil {
		return ""
	}
	for _, f := range block.Fields {
		if f.Name == match[1] && isNumber(f.Kind) {
			return "the value is 0: was the variable set? Ids and numbers of tenants begin at 1"
		}
	}
	return ""
}

// isNumber reports whether values of a kind are numbers, ids included.
func isNumber(kind string) bool {
	k, _ := schema.ParseKind(kind)
	return k.Wrap == "" && (k.Base == "id" || strings.HasPrefix(k.Base, "int") || strings.HasPrefix(k.Base, "uint"))
}

// inDirectory shows the directory in errors, if the type has several.
func (p *place) inDirectory() string {
	if len(p.args) == 0 {
		return ""
	}
	return " in the directory " + tenancy.QuotePath(p.path)
}

// checkRecord refuses a record that belongs to another directory.
func (p *place) checkRecord(v any) error {
	if p.record.CheckArgs == nil {
		return nil
	}
	field, got, ok := p.record.CheckArgs(v, p.args)
	if ok {
		return nil
	}
	reason := fmt.Sprintf("the record belongs to %q: use the store of that directory", got)
	if got == "" {
		reason = "the field is empty: make the record with the store's New, which fills it in, or set it"
	}
	return &DirectoryError{Type: p.typ, Path: p.path, Field: field, Reason: reason}
}

// noHeader is the error of a write to a store that was opened by its header, which is not
// there any more.
func (p *place) noHeader() error {
	return fmt.Errorf("%w: the store of %s in the directory %s: it was removed since it was opened; only a program with the Go code of the type makes it again",
		ErrNotFound, p.typ, tenancy.QuotePath(p.path))
}

// checkPrefix returns an error if the directory at the path is not the one that the store may be
// in. Only a directory's prefix is its own.
func (p *place) checkPrefix(prefix []byte) error {
	if u := p.record.Dynamic; u == nil || u.Prefix == nil || bytes.Equal(u.Prefix, prefix) {
		return nil
	}
	return fmt.Errorf("%w: the store of %s in the directory %s: another directory has been put there since it was opened", ErrNotFound, p.typ, tenancy.QuotePath(p.path))
}

// findIndex returns which definition has the name in keys.
func (p *place) findIndex(name string) (int, error) {
	i := slices.IndexFunc(p.definitions, func(d *index.Definition) bool { return d.KeyName() == name })
	if i < 0 {
		return i, p.noIndexNamed(name)
	}
	return i, nil
}

// noIndexNamed is the error of a name in keys that no index has.
func (p *place) noIndexNamed(name string) error {
	names := make([]string, len(p.definitions))
	for i, d := range p.definitions {
		names[i] = d.KeyName()
	}
	e := noIndex{
		typ: p.typ, indexes: p.record.indexFields(),
		reason: fmt.Sprintf("no index has the name %s; the names are %s", shorten(strconv.Quote(name)), cmp.Or(strings.Join(names, ", "), "none")),
	}
	return e.err()
}

// recountedBy returns which of the program's own indexes a foreign index recounts, -1 for
// none.
func (p *place) recountedBy(ix format.ForeignIndex) int {
	of, recounts := index.CutRecount(ix.KeyName)
	return slices.IndexFunc(p.definitions, func(d *index.Definition) bool {
		return recounts && d.KeyName() == of && d.Layout() == ix.Layout
	})
}

// loadCommitted reads the committed store at the transaction's read version, in a
// transaction of its own, and caches it: the caller's transaction may have
// written, and its writes may still fail. It returns nil if there is no store,
// or if the committed metadata version is not the given one.
func (p *place) loadCommitted(ctx context.Context, t *transaction, metadata string) (*openStore, error) {
	version, err := t.Reader.GetReadVersion().Get(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := p.db.engine.Begin()
	if err != nil {
		return nil, err
	}
	defer tx.Release()
	defer tx.Cancel()
	tx.SetReadVersion(version)
	snapshot := tx.Snapshot()
	committed, err := snapshot.Get(metadataVersionKey).Get(ctx)
	if err != nil || string(committed) != metadata {
		return nil, err
	}
	d, err := p.db.dirs.OpenRead(ctx, snapshot, p.path, p.expects...)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s, err := p.readStore(ctx, snapshot, d)
	if err != nil || s == nil {
		return nil, err
	}
	s.metadata = metadata
	p.known.Store(s)
	return s, nil
}

// readStore reads the header of the store in a directory; nil if there is none.
// It returns a *[SchemaError] if the store's schema does not agree with the
// program's: no record or entry has been read or written by then.
func (p *place) readStore(ctx context.Context, reader kv.ReadTransaction, d *directory.Directory) (*openStore, error) {
	prefix, err := d.Prefix()
	if err != nil {
		return nil, &DirectoryError{Type: p.typ, Path: p.path, Reason: err.Error()}
	}
	if err := p.checkPrefix(prefix); err != nil {
		return nil, err
	}
	key := systemKey(prefix, p)
	settings := startSettings(reader, d)
	value, err := reader.Get(key).Get(ctx)
	if err != nil || value == nil {
		return nil, err
	}
	c, err := format.DecodeCatalog(value)
	if err != nil {
		return nil, recordError(p.typ, "", key, err)
	}
	if err := p.checkSchema(c); err != nil {
		return nil, err
	}
	s := newOpenStore(p, d, prefix, c)
	s.tenants, err = settings.await(ctx, p.typ)
	return s, err
}

// checkSchema compares the program's schema with the one in a store's header.
func (p *place) checkSchema(c *format.Catalog) error {
	differences := schema.Coexistence(c.Schema(), p.lock)
	if len(differences) == 0 {
		return nil
	}
	e := &SchemaError{Type: p.typ, Path: p.path}
	for _, d := range differences {
		e.Differences = append(e.Differences, SchemaDifference{
			Field: d.Path, Number: d.Number, Store: d.There, Program: d.Here,
			Reason: d.Text("the store", "this program"), Remedy: remedyFor(d),
		})
		if d.Aspect == schema.Origin {
			e.Differences = e.Differences[len(e.Differences)-1:] // another type: its fields need not agree
			break
		}
	}
	return e
}

// placeKey identifies a place: the schema, by its address, and the arguments.
type placeKey struct {
	schema any
	args   string
}

// placeTable is a bounded map of places. A place that was dropped is read again.
type placeTable struct {
	mu    *sync.RWMutex
	m     map[placeKey]*place
	limit int
}

func newPlaceTable(limit int) placeTable {
	return placeTable{new(sync.RWMutex), map[placeKey]*place{}, limit}
}

func (t *placeTable) get(k placeKey) *place {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.m[k]
}

// put adds p, or returns the place that is there. To make room it drops any other
// place.
func (t *placeTable) put(k placeKey, p *place) *place {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other := t.m[k]; other != nil {
		return other
	}
	for other := range t.m {
		if len(t.m) < t.limit {
			break
		}
		delete(t.m, other)
	}
	t.m[k] = p
	return p
}

// all returns the places of the table.
func (t *placeTable) all() []*place {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Values(t.m))
}

// joinArgs encodes the arguments injectively; one argument needs no allocation.
func joinArgs(args []string) string {
	switch len(args) {
	case 0:
		return ""
	case 1:
		return args[0]
	}
	var b []byte
	for _, arg := range args {
		b = binary.AppendUvarint(b, uint64(len(arg)))
		b = append(b, arg...)
	}
	return string(b)
}
