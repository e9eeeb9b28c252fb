// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"fmt"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/internal/nearest"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// FieldOptions are the options of a field's persist tag.
type FieldOptions struct {
	Index, Unique, Cover, Text, ID, Ignore bool
	Fold                                   bool // keys hold the text without regard to case
	Enum, Created, Updated                 bool
	Deleted                                bool // the field says when a record was deleted
	WithDeleted                            bool // the index of the field has deleted records, too
	Name, Was, Default                     string
	Number                                 int32
	Bounds                                 map[string]string // the values of min=, max=, maxlen= and match=
	Scatter                                Scatter
	Ref                                    Reference
	Offsets                                map[string]int            // offset in the tag's literal of each option
	Positions                              map[string]token.Position // the same in the source
}

// fieldOptionWords are the valid options, for suggestions.
var fieldOptionWords = []string{"index", "unique", "cover", "scatter=", "fold", "name=", "number=", "was=", "default=", "min=", "max=", "maxlen=", "match=", "text", "ref=", "as=", "check", "restrict", "cascade", "enum", "created", "updated", "deleted", withDeleted, "id", "-"}

// UniqueScatter is the fault of a unique index with the option scatter.
const UniqueScatter = "scatter: a unique index is looked up by its values, without the ID that decides on the shard; remove scatter, or make it an index that is not unique"

// ParseFieldOptions reads the options of a field.
func ParseFieldOptions(t Tag) (o FieldOptions, found []Fault) {
	o.Offsets, o.Bounds = map[string]int{}, map[string]string{}
	for _, w := range t.Words() {
		if _, again := o.Offsets[w.key]; again && w.key != "" {
			found = append(found, Fault{w.Offset, fmt.Sprintf("option %s is given twice", w.key)})
			continue
		}
		o.Offsets[w.key] = w.Offset
		if message, at := o.apply(w); message != "" {
			found = append(found, Fault{at, message})
		}
	}
	return o, append(found, o.contradictions()...)
}

// apply applies one option and returns its fault.
func (o *FieldOptions) apply(w word) (message string, at int) {
	flags := map[string]*bool{
		"index": &o.Index, "unique": &o.Unique, "cover": &o.Cover,
		"text": &o.Text, "enum": &o.Enum, "created": &o.Created, "updated": &o.Updated, "deleted": &o.Deleted, withDeleted: &o.WithDeleted, "id": &o.ID, "-": &o.Ignore, "fold": &o.Fold,
		"check": &o.Ref.Check, "restrict": &o.Ref.Restrict, "cascade": &o.Ref.Cascade,
	}
	flag, isFlag := flags[w.key]
	switch {
	case w.Text == "":
		return "empty option; remove the comma", w.Offset
	case w.key == "cover" && w.hasValue:
		return unsupported(w), w.ValueOffset
	case isFlag && w.hasValue:
		return fmt.Sprintf("option %s takes no value", w.key), w.ValueOffset
	case isFlag:
		*flag = true
	case w.hasValue && slices.Contains(schema.BoundOptions, w.key):
		if w.value == "" {
			return fmt.Sprintf("%s= lacks its value: a constant", w.key), w.Offset
		}
		o.Bounds[w.key] = w.value
	case unsupported(w) != "":
		return unsupported(w), w.Offset
	case w.key == "name":
		o.Name = w.value
		return CheckName(w.value), w.ValueOffset
	case w.key == "was":
		o.Was = w.value
		if _, ok := schema.ParseKind(w.value); !ok {
			return fmt.Sprintf("was=%s is not a kind; write the one that persist.lock had, such as int32", w.value), w.ValueOffset
		}
	case w.key == "default":
		if o.Default = w.value; w.value == "" {
			return "default= lacks its value: a constant of the field's type", w.Offset
		}
	case w.key == "ref" || w.key == "as":
		return o.Ref.set(w)
	case w.key == "scatter":
		o.Scatter, message = parseScatter(w)
		return message, w.valueOffset()
	case w.key == "number":
		n, err := strconv.ParseInt(w.value, 10, 64)
		if err != nil || n < IDNumber || n > MaxNumber || n >= ReservedNumbers && n < ReservedNumbers+1000 {
			return fmt.Sprintf("number=%s is not a field number; use 2 to %d without %d to %d",
				w.value, MaxNumber, ReservedNumbers, ReservedNumbers+999), w.ValueOffset
		}
		o.Number = int32(n)
	case CheckName(w.Text) == "" && w.Text[0] <= 'Z':
		return fmt.Sprintf("unknown option %s; %sto name the field write name=%s", w.Text, meantFlag(w.Text), w.Text), w.Offset
	default:
		return fmt.Sprintf("unknown option %s", w.key) + Suggest(w.key, fieldOptionWords), w.Offset
	}
	return "", 0
}

// unsupported returns why an option that other libraries have is refused, or "".
func unsupported(w word) string {
	switch w.key {
	case "desc", "descending", "asc", "ascending":
		return fmt.Sprintf("option %s is not supported: the index of one field has no direction, every query reads both ways (Reverse); "+
			"in an Index marker write desc after a field", w.key)
	case "sparse", "partial", "where":
		return fmt.Sprintf("option %s is not supported here: write an Index marker with a condition, `persist:\"Field,where=…\"`", w.key)
	case "cover":
		if w.hasValue {
			return "cover takes no value here: write an Index marker, `persist:\"Field,cover=A+B\"`"
		}
	}
	for _, marker := range Aggregates {
		if w.key == strings.ToLower(marker) {
			remedy := ""
			if slices.Contains(schema.BoundOptions, w.key) {
				remedy = fmt.Sprintf("; to bound the values write %s=VALUE", w.key)
			}
			return fmt.Sprintf("option %s is not supported: write a marker, _ persistable.%s `persist:\"…\"`%s", w.key, marker, remedy)
		}
	}
	return ""
}

// meantFlag asks for the option without a value that a capitalised word spells,
// give or take one letter; for others it returns "".
func meantFlag(text string) string {
	for _, flag := range []string{"index", "unique", "cover", "text", "enum", "created", "updated", "deleted", withDeleted, "id"} {
		if strings.EqualFold(text, flag) || len(flag) > 4 && nearest.Distance(text, flag) <= 1 {
			return fmt.Sprintf("did you mean %s? Or ", flag)
		}
	}
	return ""
}

// contradictions returns the options that do not go together.
func (o *FieldOptions) contradictions() (found []Fault) {
	if o.Ignore && len(o.Offsets) > 1 {
		found = append(found, Fault{o.Offsets["-"], `"-" leaves the field out, so it goes with no other option`})
	}
	if o.Index && o.Unique {
		found = append(found, Fault{o.Offsets["index"], "a unique index is an index already; remove index"})
	}
	if o.Cover && !o.Index && !o.Unique {
		found = append(found, Fault{o.Offsets["cover"], "cover belongs to index or unique"})
	}
	if scattered := o.Scatter.Shards != 0; scattered && o.Unique {
		found = append(found, Fault{o.Offsets["scatter"], UniqueScatter})
	} else if scattered && !o.Index {
		found = append(found, Fault{o.Offsets["scatter"], "scatter belongs to index; to scatter the records write it into a persistable.Type marker"})
	}
	if o.ID && (o.Index || o.Unique) {
		found = append(found, Fault{o.Offsets["id"], "records are found by their ID without an index; remove index and unique"})
	}
	if o.Fold && o.ID {
		found = append(found, Fault{o.Offsets["fold"], "an ID is found as it is; remove fold"})
	}
	if o.Fold && o.Ref.To != "" {
		found = append(found, Fault{o.Offsets["fold"], "an ID is compared as it is; remove fold from the field that refers to it"})
	}
	if len(o.Bounds) > 0 && o.ID {
		for option := range o.Bounds {
			found = append(found, Fault{o.Offsets[option], fmt.Sprintf("an ID has no bounds; remove %s=", option)})
		}
	}
	if o.Created && o.Updated {
		found = append(found, Fault{o.Offsets["updated"], "created is the time of the first write, updated that of the last; use two fields"})
	}
	if o.Deleted && (o.Created || o.Updated) {
		found = append(found, Fault{o.Offsets["deleted"], "a deletion is no other write; use a field of its own for deleted"})
	}
	if o.WithDeleted && !o.Index && !o.Unique {
		found = append(found, Fault{o.Offsets[withDeleted], "withdeleted belongs to index or unique: the index has deleted records, too"})
	}
	if o.Default != "" && o.ID {
		found = append(found, Fault{o.Offsets["default"], "every record has an ID of its own; remove default"})
	}
	return append(found, o.referenceContradictions()...)
}

// referenceContradictions returns the options of references that do not go together.
func (o *FieldOptions) referenceContradictions() (found []Fault) {
	if at, ok := o.Offsets["as"]; ok && o.Ref.To == "" {
		found = append(found, Fault{at, "as belongs to ref; to name the field write name="})
	}
	for _, option := range []string{"check", "restrict", "cascade"} {
		if at, ok := o.Offsets[option]; ok && o.Ref.To == "" {
			found = append(found, Fault{at, option + " belongs to ref: write ref=Customer," + option})
		}
	}
	if o.Ref.Restrict && o.Ref.Cascade {
		found = append(found, Fault{o.Offsets["cascade"], "restrict refuses the deletion that cascade passes on; remove one of them"})
	}
	if o.Ref.Check && (o.Ref.Restrict || o.Ref.Cascade) {
		found = append(found, Fault{o.Offsets["check"], "restrict and cascade check that the record exists already; remove check"})
	}
	if at, ok := o.Offsets["ref"]; ok && o.ID {
		found = append(found, Fault{at, "the ID of a record cannot refer to another one; write a field of its own, or remove ref"})
	}
	return found
}

// Reference is what the options of a field say of the records that it refers to.
type Reference struct {
	To string // the Go name of their type; "" for a field that refers to none
	As string // the name of the method that reads them; "" for the one made of the field's name

	Check    bool // writes check that they exist
	Restrict bool // they cannot be deleted
	Cascade  bool // with one of them the record is deleted
}

// set applies an option with a value, and returns its fault.
func (r *Reference) set(w word) (message string, at int) {
	if !token.IsIdentifier(w.value) {
		return fmt.Sprintf("%s=%s is not a name; %s", w.key, w.value, map[string]string{
			"ref": "write the type of the records that the field refers to, which is one of this package: ref=Customer",
			"as":  "write the name of the method that reads the records: as=Customers",
		}[w.key]), w.valueOffset()
	}
	if w.key == "ref" {
		r.To = w.value
		return "", 0
	}
	if r.As = w.value; !token.IsExported(w.value) {
		return fmt.Sprintf("as=%s names a method of the store, so it begins with a capital letter", w.value), w.valueOffset()
	}
	return "", 0
}
