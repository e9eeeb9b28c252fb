// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// The marker types carry a struct's options in the tags of blank fields. A
// struct is persistable if it has at least one of them:
//
//	type Order struct {
//		_ persistable.Type      `persist:"Order"`
//		_ persistable.Directory `persist:"tenants/{TenantID}/orders,layer=partition"`
//		_ persistable.Index     `persist:"Status,CreatedAt"`
//		_ persistable.Unique    `persist:"Number"`
//		…
//	}
//
// They have no size, but for Version; put them first, because Go pads a struct that ends
// in a field without size.
type (
	// Type names the type in keys, so that the struct can be renamed. Without
	// it the name is the struct's. The option scatter=N, with or without a name,
	// scatters the records of each directory over N shards by their ids, N a power
	// of two from 2 to 256. Otherwise records with ids that grow with time are all
	// written at one end of a range: on a cluster, on one storage server. Scans in
	// the order of ids then read N ranges side by side.
	Type struct{}

	// Directory is the path of the directory that holds the records. "/"
	// separates elements. An element {Field} is replaced by the value of that
	// field. The option layer=partition makes the directory of the last {Field}
	// a partition. Without it the path is the type's name.
	Directory struct{}

	// Index is a single or compound index on the fields named, in that order;
	// "CreatedAt desc" keeps a field in descending order. Options: cover (entries hold
	// a copy of the record), cover=A+B (entries hold these fields, which the methods
	// that end in Rows return without a read of the record), where=… (only records
	// that fulfil the condition have an entry: a partial index), scatter=N (entries are
	// scattered over N shards by the ids of their records: for values that grow
	// with time), name=….
	//
	// A condition compares fields with literals or with constants of the package:
	// "where=Status=Paid and Total>0". The comparisons are = != < <= > >=, =null and
	// !=null; a bool stands alone, or after "not".
	Index struct{}

	// Unique is an index in which at most one record has a combination of values.
	// A record with a null among the values has no entry. Options as for Index
	// without scatter, because a lookup by values does not know the id that the
	// shard depends on. With where=… it is unique among the records that fulfil the
	// condition.
	Unique struct{}

	// Count keeps the number of records, or of those with each combination of values
	// of the fields after by=: `persist:"by=Status+Country"`. Options: where=…, name=….
	// A write adds to a counter without reading it, so writes of one group do not
	// conflict; a read of the number takes one key. Without a tag it counts all records.
	Count struct{}

	// Sum keeps the sum of a field, which is an integer or a time.Duration, of all
	// records or of each group: `persist:"Amount,by=Status"`. Options as for Count. It
	// is kept in 128 bits and so never wraps; a method that cannot return it in 64 bits
	// returns an ErrOverflow. A null adds nothing.
	Sum struct{}

	// Min answers for the least value of a field, of all records or of each group:
	// `persist:"Amount,by=Status"`. It uses an ordinary index on the group's fields and
	// the field, and declares it where there is none: it stays exact when records are
	// deleted. A null does not count. Options as for Count.
	Min struct{}

	// Max is Min for the greatest value; both use the same index.
	Max struct{}

	// Search finds the records by the words of one or several texts: strings, *string and []string.
	// `persist:"Subject,Body"`. Options: where=…, name=…. Words are those of Unicode text segmentation
	// (UAX #29), without regard to case, and none is left out; of a word of more than 100 bytes the
	// beginning counts. An entry is written for each different word of a record. A record with so many
	// words that a transaction could not write the entries, about ten thousand, is refused with a
	// *FieldError. See [Match] for what can be asked.
	Search struct{}

	// Rank keeps the order of the records by a field, of all or of each group, in a
	// skip list: `persist:"Score,by=Game"`. It answers in a few reads how many records
	// have lesser values than a given one, and which record is the n-th. Options
	// as for Count.
	Rank struct{}
)

// Schema describes a type of records as the program declares it, for tools: what is stored
// under which names, and which indexes there are. [SchemaOf] returns it. What the header
// of a stored directory says, which a newer program may have written, is the Schema of package
// dynamic.
type Schema struct {
	// Type is the type's name in keys: that of the marker [Type], otherwise the struct's.
	Type string
	// Directory is the path of the records, such as "tenants/{TenantID}(partition)/orders":
	// {TenantID} stands for the value of that field, and (partition) is the layer.
	Directory string
	// Fields are the stored fields by number, the id among them.
	Fields []SchemaField
	// Indexes are the indexes, of all kinds.
	Indexes []IndexDefinition
	// Text is the type's block of persist.lock, with the structs nested in its fields.
	Text string
}

// SchemaField is a stored field of a type.
type SchemaField struct {
	Number  int32
	Name    string // in the struct, unless the option name=… says another
	Kind    string // one of those in docs/layout.md: int64, *string, []message(Address), …
	Default string // the value in a record that was stored without the field, a Go literal; "" for the zero value
}

// SchemaOf returns the description of a store's type, a copy. It reads nothing and needs no
// database: SchemaOf(&OrderStoreOf(nil, "").Store) has the description as well. The zero store
// has the zero Schema.
//
// SchemaOf is a function, not a method: a program that does not call it does not compile it for
// each type.
func SchemaOf[T, ID any](s *Store[T, ID]) Schema { return newSchema((*erased.Store[ID])(s).Schema()) }

func newSchema(s *erased.Schema) (d Schema) {
	if s == nil {
		return d
	}
	d.Type, d.Text = s.Type, s.Lock
	if lock, err := s.Parsed(); err == nil { // each operation of the store returns the error
		d.Directory = lock.Type().Directory
		for _, f := range lock.Type().Fields {
			if !f.Reserved {
				d.Fields = append(d.Fields, SchemaField{f.Number, f.Name, f.Kind, f.Default})
			}
		}
	}
	for i := range s.Indexes {
		d.Indexes = append(d.Indexes, newIndexDefinition(&s.Indexes[i]))
	}
	return d
}

// IndexDefinition describes an index.
type IndexDefinition struct {
	Name    string // without the suffix of unique indexes
	KeyName string // in keys: that of a unique index ends in _unique
	Layout  string // its fields, their kinds, and its options, as docs/layout.md has them

	// Kind is "count", "sum", "version", "rank" or "search"; "" for an index of values.
	Kind        string
	Unique      bool
	Fields      []string // of the key, or of the group
	Descending  []string // those of Fields in descending order
	Folded      []string // those of Fields that are folded
	Of          string   // the field that a sum adds
	Cover       bool     // entries have a copy of the record
	CoverFields []string // entries have a copy of these fields
	Where       string   // the condition of a partial index
	Scatter     int      // over how many shards the entries are scattered; 0: they are not
}

func newIndexDefinition(d *index.Definition) IndexDefinition {
	return IndexDefinition{
		Name: d.Name, KeyName: d.KeyName(), Layout: d.Layout(), Kind: string(d.Kind), Unique: d.Unique, Fields: slices.Clone(d.Fields),
		Descending: slices.Clone(d.Descending), Folded: slices.Clone(d.Folded), Of: d.Of, Cover: d.Cover, CoverFields: slices.Clone(d.CoverFields), Where: d.Where, Scatter: int(d.Scatter),
	}
}

// IndexState says what may be done with an index. It is kept for each directory,
// because an index can be built in one tenant and not in another.
type IndexState = index.State

// The states of an index.
const (
	// IndexDisabled: entries are neither written nor read, and existing ones are not to
	// be trusted. An index that was added to a type with records is disabled until it is
	// built.
	IndexDisabled = index.Disabled
	// IndexBuilding: every write maintains the entries, but records from before may
	// not have theirs yet. Queries are refused.
	IndexBuilding = index.Building
	// IndexReadable: complete, maintained by every write.
	IndexReadable = index.Readable
)

// SchemaVersion is what the header of a store said for some time.
type SchemaVersion struct {
	// Until is when another version replaced it, by the clock of the process that did; the
	// zero time for the present one.
	Until time.Time
	// Schema is the text of the schema: the sum of all programs that had written by
	// then. It is a block of persist.lock.
	Schema string
	// Indexes are the indexes that every write maintained.
	Indexes []StoredIndex
}

// StoredIndex is an index of a store's header.
type StoredIndex struct {
	KeyName string // as in keys: that of a unique index ends in _unique
	Layout  string // its fields, their kinds, and its options
	State   IndexState
}

func newSchemaVersion(f format.Former) SchemaVersion {
	v := SchemaVersion{Until: f.Until, Schema: f.Catalog.Schema().Text()}
	for _, ix := range f.Catalog.Indexes() {
		v.Indexes = append(v.Indexes, StoredIndex(ix))
	}
	return v
}

// SchemaError says that other programs wrote a store with a schema that does not
// agree with this program's: this program would mix up values, or make the store
// unreadable for the others. It has read and written no record.
//
// The rules of evolution allow fields and indexes that only one of the programs
// knows, and changes of kinds that persist.lock records: these are no error.
type SchemaError struct {
	Type        string
	Path        []string // of the store's directory
	Differences []SchemaDifference
}

// SchemaDifference is one reason of a [SchemaError].
type SchemaDifference struct {
	Field   string // the names that lead to the field, with dots; empty if the type as a whole is meant
	Number  int32  // of the field; 0 if none is meant
	Store   string // what the store's header says: a package, directory, name, number or kind
	Program string // what this program says
	Reason  string // the difference in words
	Remedy  string // the ways out
}

// Error implements error.
func (e *SchemaError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "persistable: %s: the store in the directory %s has another schema than this program; nothing was read or written", e.Type, tenancy.QuotePath(e.Path))
	for i, d := range e.Differences {
		if i == maxDifferences {
			fmt.Fprintf(&b, "; and %d more differences", len(e.Differences)-i)
			break
		}
		b.WriteString("; " + d.Reason)
	}
	seen := map[string]bool{}
	for _, d := range e.Differences {
		if !seen[d.Remedy] {
			seen[d.Remedy] = true
			b.WriteString(": " + d.Remedy)
		}
	}
	return b.String()
}

// maxDifferences is how many differences the text of an error shows.
const maxDifferences = 5

// The ways out, by what differs.
const (
	remedyOrigin = "two packages have a type of this name and directory: give one of them another name with persistable.Type, or another directory; " +
		"if it is one type that moved, its block in persist.lock must move with it"
	remedyDirectory = "restore the Directory marker, or give the type another name with persistable.Type"
	remedyNumbers   = "if persist.lock was lost, emptied or merged by hand, restore it from version control and run go generate, then deploy that; " +
		"if the field was renamed, keep its stored name with name=; persistgen -check -against REVISION ./... finds this before a deployment; " +
		"for records of another kind give the type another name with persistable.Type"
	remedyKind     = "restore persist.lock from version control and run go generate; if the type of the field was changed, restore it or add a new field"
	remedyDefault  = "restore the option default= that the store's records were written with; for another one add a new field"
	remedyConstant = "give the constants the values that the store has, and new ones values that no constant had; a constant that only has another name says so in persist.lock, with the word was; " +
		"persistgen -check -against REVISION ./... finds this before a deployment"
	remedyWas = "restore persist.lock from version control and run go generate; if the type of the field was changed and %s, tag it was=%s"
)

func remedyFor(d schema.Difference) string {
	switch d.Aspect {
	case schema.Origin:
		return remedyOrigin
	case schema.Directory:
		return remedyDirectory
	case schema.FieldName, schema.FieldNumber:
		return remedyNumbers
	case schema.FieldDefault:
		return remedyDefault
	case schema.Renumbered, schema.Reused:
		return remedyConstant
	}
	if len(d.Consequences) > 0 {
		return fmt.Sprintf(remedyWas, "what follows is meant ("+strings.Join(d.Consequences, "; ")+")", d.There)
	}
	return remedyKind
}
