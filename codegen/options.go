// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/internal/nearest"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// namePattern is what type, field and index names may be.
var namePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// checkName returns why a key-stable name is not allowed, or "".
func checkName(name string) string {
	switch {
	case !namePattern.MatchString(name):
		return fmt.Sprintf("%q is not a name; use letters, digits and underscores, a letter first", name)
	case name == "unique":
		return `the name "unique" is reserved: the keys of unique indexes end in it`
	}
	return ""
}

// Field numbers, as protobuf limits them.
const (
	idNumber        = 1
	maxNumber       = 1<<29 - 1
	reservedNumbers = 19000 // to 19999: protobuf's own
)

// fieldOptions are the options of a field's persist tag.
type fieldOptions struct {
	index, unique, cover, text, id, ignore bool
	name, was                              string
	number                                 int32
	scatter                                scatter
	at                                     map[string]int            // offset in the tag's literal of each option
	positions                              map[string]token.Position // the same in the source
}

// fieldOptionWords are the valid options, for suggestions.
var fieldOptionWords = []string{"index", "unique", "cover", "scatter=", "name=", "number=", "was=", "text", "id", "-"}

// uniqueScatter is the fault of a unique index with the option scatter.
const uniqueScatter = "scatter: a unique index is looked up by its values, without the ID that decides on the shard; remove scatter, or make it an index that is not unique"

// fault is a fault at an offset of a tag's literal.
type fault struct {
	at      int
	message string
}

// parseFieldOptions reads the options of a field.
func parseFieldOptions(t tag) (o fieldOptions, found []fault) {
	o.at = map[string]int{}
	for _, w := range t.words() {
		if _, again := o.at[w.key]; again && w.key != "" {
			found = append(found, fault{w.at, fmt.Sprintf("option %s is given twice", w.key)})
			continue
		}
		o.at[w.key] = w.at
		if message, at := o.set(w); message != "" {
			found = append(found, fault{at, message})
		}
	}
	return o, append(found, o.contradictions()...)
}

// set applies one option and returns its fault.
func (o *fieldOptions) set(w word) (message string, at int) {
	flags := map[string]*bool{
		"index": &o.index, "unique": &o.unique, "cover": &o.cover,
		"text": &o.text, "id": &o.id, "-": &o.ignore,
	}
	flag, isFlag := flags[w.key]
	switch {
	case w.text == "":
		return "empty option; remove the comma", w.at
	case isFlag && w.hasValue:
		return fmt.Sprintf("option %s takes no value", w.key), w.valueAt
	case isFlag:
		*flag = true
	case unsupported(w) != "":
		return unsupported(w), w.at
	case w.key == "name":
		o.name = w.value
		return checkName(w.value), w.valueAt
	case w.key == "was":
		o.was = w.value
		if _, ok := schema.ParseKind(w.value); !ok {
			return fmt.Sprintf("was=%s is not a kind; write the one that persist.lock had", w.value), w.valueAt
		}
	case w.key == "scatter":
		o.scatter, message = parseScatter(w)
		return message, w.scatterAt()
	case w.key == "number":
		n, err := strconv.ParseInt(w.value, 10, 64)
		if err != nil || n < idNumber || n > maxNumber || n >= reservedNumbers && n < reservedNumbers+1000 {
			return fmt.Sprintf("number=%s is not a field number; use 2 to %d without %d to %d",
				w.value, maxNumber, reservedNumbers, reservedNumbers+999), w.valueAt
		}
		o.number = int32(n)
	case checkName(w.text) == "" && w.text[0] <= 'Z':
		return fmt.Sprintf("unknown option %s; %sto name the field write name=%s", w.text, meantFlag(w.text), w.text), w.at
	default:
		return fmt.Sprintf("unknown option %s", w.key) + didYouMean(w.key, fieldOptionWords), w.at
	}
	return "", 0
}

// unsupported returns why an option that other libraries have is refused, or "".
func unsupported(w word) string {
	switch w.key {
	case "desc", "descending", "asc", "ascending":
		return fmt.Sprintf("option %s is not supported: an index has no direction, every query reads both ways (Reverse)", w.key)
	case "sparse", "partial":
		return fmt.Sprintf("option %s is not supported: an index holds all records; a unique one leaves nulls out", w.key)
	}
	return ""
}

// meantFlag asks for the option without a value that a capitalised word spells,
// give or take one letter; for others it returns "".
func meantFlag(text string) string {
	for _, flag := range []string{"index", "unique", "cover", "text", "id"} {
		if strings.EqualFold(text, flag) || len(flag) > 4 && nearest.Distance(text, flag) <= 1 {
			return fmt.Sprintf("did you mean %s? Or ", flag)
		}
	}
	return ""
}

// contradictions returns the options that do not go together.
func (o *fieldOptions) contradictions() (found []fault) {
	if o.ignore && len(o.at) > 1 {
		found = append(found, fault{o.at["-"], `"-" leaves the field out, so it goes with no other option`})
	}
	if o.index && o.unique {
		found = append(found, fault{o.at["index"], "a unique index is an index already; remove index"})
	}
	if o.cover && !o.index && !o.unique {
		found = append(found, fault{o.at["cover"], "cover belongs to index or unique"})
	}
	if scattered := o.scatter.shards != 0; scattered && o.unique {
		found = append(found, fault{o.at["scatter"], uniqueScatter})
	} else if scattered && !o.index {
		found = append(found, fault{o.at["scatter"], "scatter belongs to index; to scatter the records write it into a persistable.Type marker"})
	}
	if o.id && (o.index || o.unique) {
		found = append(found, fault{o.at["id"], "records are found by their ID without an index; remove index and unique"})
	}
	return found
}

// indexOptions are the options behind the fields of an Index or Unique marker.
type indexOptions struct {
	fields []word
	cover  bool
	name   string

	scatter scatter
}

// parseIndexOptions reads an Index or Unique marker.
func parseIndexOptions(t tag) (o indexOptions, found []fault) {
	bad := func(at int, format string, args ...any) {
		found = append(found, fault{at, fmt.Sprintf(format, args...)})
	}
	for _, w := range t.words() {
		switch {
		case w.text == "":
			bad(w.at, "empty field name; remove the comma")
		case w.key == "name" && w.hasValue:
			if o.name != "" {
				bad(w.at, "option name is given twice")
			}
			o.name = w.value
			if message := checkName(w.value); message != "" {
				bad(w.valueAt, "%s", message)
			}
		case w.key == "scatter":
			if o.scatter.shards != 0 {
				bad(w.at, "option scatter is given twice")
			}
			var message string
			if o.scatter, message = parseScatter(w); message != "" {
				bad(w.scatterAt(), "%s", message)
			}
		case unsupported(w) != "":
			bad(w.at, "%s", unsupported(w))
		case w.hasValue:
			bad(w.at, "unknown option %s%s", w.key, didYouMean(w.key, []string{"name=", "cover", "scatter="}))
		case w.text == "cover" && o.cover:
			bad(w.at, "option cover is given twice")
		case w.text == "cover":
			o.cover = true
		case slices.ContainsFunc(o.fields, func(f word) bool { return f.text == w.text }):
			bad(w.at, "field %s is given twice", w.text)
		default:
			o.fields = append(o.fields, w)
		}
	}
	if len(o.fields) == 0 && len(found) == 0 {
		bad(t.offset(0), "the index names no field; write the fields with commas between")
	}
	return o, found
}
